"""One Chromium for all tests of a worker."""

import pytest

from tests.web.browser import Browser


@pytest.fixture(scope="session")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def opened(browser):
    """Open pages that are closed when the test ends; a page that broke its own rules fails it."""
    pages = []

    def open_page(*args, **options):
        page = browser.open(*args, **options)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        assert [] == page.violations()
        page.close()
