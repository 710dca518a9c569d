"""The page in Chromium against a service: publication, edit and deletion of documents, and the answers that follow."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.support.page_client import PageUser
from tests.support.page_service import GRAPH, SAMPLE, PageService


def test_published_file_is_asked_and_its_citation_opens_the_marked_sentence(user: PageUser, tmp_path: Path) -> None:
    """From a file to an answer: publish, ask, open the citation, open the document."""
    page = user.page
    file = tmp_path / "lighthouse-log.md"
    file.write_text(
        "# Lighthouse 🚢\n\nThe lamp was cleaned. Solveig Berg keeps the lighthouse of Cape Thorn. It rained.\n"
    )
    user.open(GRAPH, "documents")
    page.get_by_label("Files to publish").set_input_files([file])
    expect(page.get_by_text("1 document in the graph.").first).to_be_visible()
    expect(page.get_by_role("link", name="lighthouse log")).to_be_visible()
    user.open(GRAPH, "ask")
    user.ask("Who keeps the lighthouse of Cape Thorn?")
    expect(page.locator(".answer-text")).to_contain_text("Solveig Berg")
    page.get_by_role("button", name="Source 1").first.click()
    expect(page.locator("mark")).to_have_text("Solveig Berg keeps the lighthouse of Cape Thorn.")
    page.get_by_role("link", name="Open the document").first.click()
    expect(page.get_by_role("heading", name="lighthouse log", level=1)).to_be_focused()
    expect(page.locator(".document-text mark")).to_have_text("Solveig Berg keeps the lighthouse of Cape Thorn.")


def test_dropped_files_are_published_and_refused_ones_are_named(user: PageUser) -> None:
    """A drop is a publication; names of files are text."""
    page = user.page
    user.open(GRAPH, "documents")
    name = "<img src=x onerror=window.attacked=1>.txt"
    transfer = page.evaluate_handle(
        """(name) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File(["The quay of Port Amsel is 300 metres long."], name));
          transfer.items.add(new File(["%PDF-1.7"], "plan.pdf"));
          return transfer;
        }""",
        name,
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.get_by_text("1 document in the graph.").first).to_be_visible()
    expect(page.locator(".publish-progress")).to_contain_text("plan.pdf: .pdf files need conversion")
    page.get_by_label("Id begins with").fill("<img")
    expect(page.locator("td .id")).to_have_count(1)
    expect(page.locator("td .id")).to_have_text(name)
    assert page.evaluate("window.attacked") is None


def test_answer_changes_with_the_document_that_it_cites(user: PageUser, page_service: PageService) -> None:
    """An edit on the page, then one by another client: the answer follows, and the earlier one can be seen."""
    page = user.page
    user.open(GRAPH, "ask")
    user.ask("Who is the captain of Meridian?")
    expect(page.locator(".answer-text").first).to_contain_text("Rosa Delgado")
    user.open(GRAPH, "documents", "meridian")
    page.get_by_role("button", name="Edit").click()
    editor = page.get_by_label("Text", exact=True)
    expect(editor).to_have_value(SAMPLE["meridian"])
    editor.fill(SAMPLE["meridian"].replace("Rosa Delgado", "Viktor Hale"))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".document-text")).to_contain_text("Viktor Hale")
    user.open(GRAPH, "ask")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".answer-text").first).to_contain_text("Viktor Hale")
    page.get_by_text("The answer changed", exact=True).click()
    expect(page.locator(".before")).to_contain_text("Rosa Delgado")
    page.get_by_label("Keep current").check()
    text = SAMPLE["meridian"].replace("Rosa Delgado", "Marta Lindqvist")
    page_service.publish(GRAPH, {"id": "meridian", "text": text, "title": "Meridian"})
    expect(page.locator(".answer-text").first).to_contain_text("Marta Lindqvist")


def test_deleted_document_leaves_the_list(user: PageUser, page_service: PageService) -> None:
    """Deletion asks first; afterwards the document is found among the deleted ones only."""
    page = user.page
    page_service.publish(GRAPH, {"id": "old/plan", "text": "The old plan of the quay.", "title": "Old plan"})
    user.open(GRAPH, "documents", "old/plan")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("Delete this document?")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete the document").click()
    expect(page.get_by_role("heading", name="Documents", level=1)).to_be_visible()
    page.get_by_label("Id begins with").fill("old/")
    expect(page.get_by_text("No document matches.")).to_be_visible()
    page.get_by_label("State").select_option("deleted")
    expect(page.locator("table.list")).to_contain_text("old/plan")


def test_code_of_an_answer_is_shown_as_code(user: PageUser, page_service: PageService) -> None:
    """Its lines keep their indentation, and the sources of the sentence and of the code follow each."""
    code = "if lamp.broken:\n    lamp.swap('LX-9')"
    text = f"# Lamp manual\n\nYou can swap the broken lamp automatically like this:\n\n```python\n{code}\n```\n"
    page_service.publish(GRAPH, {"id": "lamp-manual.md", "text": text, "media_type": "text/markdown"})
    user.open(GRAPH, "ask")
    user.ask("How do I swap the broken lamp automatically?")
    expect(user.page.locator(".answer-text pre")).to_have_text(code, use_inner_text=True)
    expect(user.page.locator(".answer-text p")).to_have_count(2)
    expect(user.page.locator(".answer-text button.cite")).to_have_count(2)
