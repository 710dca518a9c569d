"""The page in Chromium against a service: what texts of documents must not do there."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.support.page_client import PageUser
from tests.support.page_service import PageService

SCRIPT = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>'
LINES = "cell => { const r = document.createRange(); r.selectNodeContents(cell); return r.getClientRects().length; }"
HOSTILE = f'"><b>{SCRIPT}'


def test_long_names_leave_other_columns_readable(user: PageUser, page_service: PageService) -> None:
    """A name without blanks breaks no word of another column; an entity without a type has no stray separator."""
    name = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
    mentioned = [{"name": name}, {"name": "Ana Ruiz", "type": "person"}]
    page_service.publish("long", {"id": "one", "text": f"{name} employs Ana Ruiz.", "entities": mentioned, "facts": []})
    user.open("long", "entities")
    page = user.page
    assert page.get_by_role("cell", name="person").evaluate(LINES) == 1
    assert not user.is_wider_than_the_screen()
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.locator(".lead")).to_have_text("1 mention")


def test_texts_of_documents_are_never_markup(user: PageUser, page_service: PageService) -> None:
    """Scripts in ids, titles, sources, metadata, names, types, predicates and texts are shown as text."""
    page = user.page
    document = {
        "id": f"x/{HOSTILE}",
        "text": f"{HOSTILE} Mallory Vane owns the tavern. javascript:alert(1)",
        "title": f"Title {HOSTILE}",
        "source": f"Source {HOSTILE}",
        "metadata": {HOSTILE: HOSTILE, "deep": {"a": [HOSTILE]}},
        "entities": [{"name": f"Mallory {HOSTILE}", "type": f"type {HOSTILE}", "description": HOSTILE}],
        "facts": [{"subject": f"Mallory {HOSTILE}", "predicate": f"owns {HOSTILE}", "object": f"tavern {HOSTILE}"}],
    }
    page_service.publish("hostile", document)
    with page_service.client() as http:
        entities = http.get("hostile/entities").json()["entities"]
        community = http.get("hostile/communities", params={"level": 2}).json()["communities"][0]["community"]
    screens = [("ask", ""), ("documents", ""), ("documents", document["id"]), ("entities", "")]
    screens += [("entities", entities[0]["id"]), ("graph", entities[0]["id"]), ("communities", "")]
    screens += [("communities", str(community)), ("live", ""), ("operations", "")]
    for screen, id_ in screens:
        user.open("hostile", screen, str(id_))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if screen == "ask":
            user.ask("Who owns the tavern?", explain=True)
            for summary in page.locator(".answer-card summary").all():
                summary.click()
        expect(page.locator("main .busy")).to_have_count(0)
        assert page.locator("#page img, #page script, #page b, #page [onerror]").count() == 0, screen
        assert page.evaluate("window.attacked") is None, screen
    user.open("hostile", "documents", str(document["id"]))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Title {HOSTILE}")
    expect(page.locator("dl.facts")).to_contain_text(f"{HOSTILE}: {HOSTILE}")
