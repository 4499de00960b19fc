// A long table that scrolls by itself shows its first rows at once; those below its edge are laid out after the paint.

const IN_SIGHT = 36;  // more than the tallest such table shows
const MORE = 12;      // fewer than this more are not worth a second layout

// Takes rows below the edge of long tables out of an element, and puts them back once the others are painted.
export function paintRowsInSight(element) {
  if (document.hidden) return;  // no frame comes while a window is hidden
  for (const body of element.querySelectorAll(".grid > table > tbody")) {
    if (body.rows.length < IN_SIGHT + MORE) continue;
    const below = document.createDocumentFragment();
    below.append(...[...body.rows].slice(IN_SIGHT));
    const room = widest(below.children);
    body.append(room);
    window.requestAnimationFrame(() => window.setTimeout(() => room.replaceWith(below)));
  }
}

// A row of no height with the longest texts of others: columns have their widths before those rows are there.
function widest(rows) {
  const room = document.createElement("tr");
  room.className = "room";
  room.ariaHidden = "true";
  for (const [column, cell] of [...rows[0].cells].entries()) {
    let longest = cell;
    for (const row of rows) {
      const other = row.cells[column];
      if (other && other.textContent.length > longest.textContent.length) longest = other;
    }
    const copy = document.createElement("td");
    copy.className = longest.className;
    copy.textContent = longest.textContent;
    room.append(copy);
  }
  return room;
}
