"""Elements of HTML: what is text stays text, what is markup stays markup."""

from markupsafe import Markup

from explorer.jupyter.displays import joined, tag


def test_content_and_attributes_are_escaped() -> None:
    found = tag("p", "<b>\u202e", title='"><i>', aria_label=None, class_="dte")
    assert str(found) == '<p title="&#34;&gt;&lt;i&gt;" class="dte">&lt;b&gt;\ufffd</p>'


def test_markup_is_taken_as_it_is_as_content_but_not_as_an_attribute() -> None:
    assert str(joined([tag("b", 1), " & ", None])) == "<b>1</b> &amp; "
    assert str(tag("p", title=Markup("<i>"))) == '<p title="&lt;i&gt;"></p>'


def test_braces_in_a_text_are_no_places_to_fill_in() -> None:
    assert str(tag("p", "{0} {name}")) == "<p>{0} {name}</p>"
