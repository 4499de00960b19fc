"""The commits as a table in place of the timeline: a page of them, with filters, an order and exports."""

from __future__ import annotations

from explorer.page.address import Address
from explorer.page.render import render
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.table.commit_list import CommitChoice, choices, chosen_commits, page_of

__all__ = ["commits_listing", "commits_table"]


def commits_listing(view: TableView, address: Address) -> Listing:
    """Return the commits that an address asks for, at its page: that of the chosen version, unless it names one."""
    choice = CommitChoice(address.commit_find, address.commit_operation, address.commit_author, address.commit_sort)
    listing = chosen_commits(view.facts, choice)
    named = address.commit_page
    page = int(named) if named.isdecimal() and len(named) < 10 else page_of(listing, view.version)
    return listing.at(page)


def commits_table(view: TableView, address: Address) -> str:
    """Return the commits as HTML."""
    listing = commits_listing(view, address)
    operations, authors = choices(view.facts)
    return render(
        "commits",
        listing=listing,
        page=listing.paged(),
        operations=operations,
        authors=authors,
        version=view.version,
        total=len(view.facts.commits),
        address=address,
    )
