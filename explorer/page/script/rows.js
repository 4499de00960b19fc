// A long table that scrolls by itself shows its first rows at once; those below its edge are laid out after the paint.

const IN_SIGHT = 36;  // more than the tallest such table shows
const MORE = 12;      // fewer than this more are not worth a second layout
const NARROW = new Set("fijlrtI.,:;|!'()[]/ -");
const WIDE = new Set("mwMWGOQ@%");

// Takes rows below the edge of long tables out of an element, and puts them back once the others are painted. A table
// that has an element which is needed now stays whole.
export function paintRowsInSight(element, needed) {
  if (document.hidden) return;  // no frame comes while a window is hidden
  for (const body of element.querySelectorAll(".grid > table > tbody")) {
    if (body.rows.length < IN_SIGHT + MORE || body.contains(needed)) continue;
    const below = document.createDocumentFragment();
    below.append(...[...body.rows].slice(IN_SIGHT));
    const room = widest(below.children);
    body.append(room);
    window.requestAnimationFrame(() => window.setTimeout(() => room.replaceWith(below)));
  }
}

// A row of no height with the widest texts of others: columns have about their widths before those rows are there.
function widest(rows) {
  const room = document.createElement("tr");
  room.className = "room";
  room.ariaHidden = "true";
  for (const [column, first] of [...rows[0].cells].entries()) {
    let [cell, most] = [first, -1];
    for (const row of rows) {
      const text = row.cells[column]?.textContent ?? "";
      const width = widthOf(text);
      if (width > most) [cell, most] = [row.cells[column], width];
    }
    const copy = document.createElement("td");
    copy.className = cell.className;
    copy.textContent = cell.textContent;
    room.append(copy);
  }
  return room;
}

// The width of a text in letters of common width, about.
function widthOf(text) {
  let width = 0;
  for (const letter of text) width += NARROW.has(letter) ? 0.5 : WIDE.has(letter) ? 1.7 : 1;
  return width;
}
