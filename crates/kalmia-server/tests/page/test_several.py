"""The page with models of several classes, of several quantiles and with conformal intervals."""

from conftest import LearnInBackground, wait_until
from playwright.sync_api import expect
from test_page import (
    CONTRASTS,
    LEAST_CONTRAST,
    MOVE_MS,
    declare,
    forest_fits,
    page_overflow,
    take_picture,
    tile,
)

CAUSE = {"family": "categorical", "target": "cause"}
DELAY = {"family": "quantile:0.1,0.5,0.9", "target": "delay"}


def learned(server, flights, name, declaration, rows=800):
    declare(server, name, declaration)
    server.must("POST", f"/v1/models/{name}/learn", flights.rows(rows, declaration["target"]))
    return server.must("GET", f"/v1/models/{name}")


def test_classes_are_shown_with_their_coefficients_and_confusions(server, flights, open_page):
    model = learned(server, flights, "cause", CAUSE)
    assert model["classes"] == ["carrier", "security", "weather"]
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#model-about")).to_contain_text("categorical")
    expect(page.locator("#model-about")).to_contain_text("3 classes")
    expect(page.locator("#loss-model")).to_have_count(1)
    expect(page.locator(".label-model").first).to_contain_text(
        f"{model['progressive']['loss']:.4f}"
    )

    # The table has a row per true class and a column per predicted one.
    expect(page.locator("#confusion-head th")).to_have_text(
        ["true \\ predicted", "carrier", "security", "weather"]
    )
    for i, row in enumerate(model["confusion"]):
        cells = page.locator("#confusion tr").nth(i).locator("td")
        expect(cells).to_have_text([str(int(weight)) for weight in row])
        classes = cells.nth(i).get_attribute("class")
        assert "right" in classes and "heat-" in classes, classes

    # Coefficients against the reference class, of the class that is chosen.
    choice = page.locator("#coefficients-of")
    expect(choice.locator("option")).to_have_text(["security", "weather"])
    for one in model["coefficients"]:
        choice.select_option(one["class"])
        strongest = max(one["coefficients"], key=lambda row: abs(row["z"]))
        expect(page.locator("#coefficients th").first).to_have_text(strongest["name"])
        expect(page.locator("#coefficients tr")).to_have_count(len(one["coefficients"]))
        expect(page.locator("#coefficients-note")).to_contain_text(
            f"{one['class']} against carrier, as log odds"
        )
    expect(page.locator(".calibration-mark")).to_have_count(len(model["calibration"]))
    expect(page.locator("#calibration-note")).to_contain_text("likeliest class")
    scores = page.locator("#scores")
    expect(scores).to_contain_text("Accuracy")
    expect(scores).to_contain_text("One of the two likeliest")
    expect(scores).to_contain_text(f"{model['progressive']['accuracy']:.4f}")
    expect(page.locator("#drift-verdict")).not_to_be_empty()
    for part in ("#part-levels", "#part-conformal"):
        expect(page.locator(part)).to_be_hidden()

    # A choice survives what is learned, and a new class gets its place.
    choice.select_option("weather")
    new = [{**row, "cause": "crew"} for row in flights.rows(3, "cause")]
    server.must("POST", "/v1/models/cause/learn", new)
    expect(choice.locator("option")).to_have_text(["crew", "security", "weather"], timeout=MOVE_MS)
    expect(choice).to_have_value("weather")
    expect(page.locator("#confusion tr")).to_have_count(4)
    expect(page.locator("#confusion-head th")).to_have_count(5)
    watched.check(server)


def test_levels_are_shown_with_the_share_of_targets_below(server, flights, open_page):
    model = learned(server, flights, "delay", DELAY, rows=1500)
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#model-about")).to_contain_text("levels 0.1, 0.5, 0.9")
    levels = page.locator("#levels tr")
    expect(levels).to_have_count(3)
    expect(levels.locator("th")).to_have_text(["0.1", "0.5", "0.9"])
    for i, scores in enumerate(model["progressive"]["levels"]):
        expect(levels.nth(i)).to_contain_text(f"{scores['share_below']:.3f}")
        expect(levels.nth(i).locator("svg .whisker")).to_have_count(1)
    choice = page.locator("#coefficients-of")
    expect(choice.locator("option")).to_have_text(["level 0.1", "level 0.5", "level 0.9"])
    choice.select_option("0.9")
    strongest = max(model["levels"][2]["coefficients"], key=lambda row: abs(row["z"]))
    expect(page.locator("#coefficients th").first).to_have_text(strongest["name"])
    expect(page.locator("#drift-verdict")).not_to_be_empty()
    for part in ("#part-confusion", "#part-calibration", "#part-conformal"):
        expect(page.locator(part)).to_be_hidden()
    line = page.locator("#loss-model")
    before = line.get_attribute("d")
    server.must("POST", "/v1/models/delay/learn", flights.rows(300, "delay"))
    expect(line).not_to_have_attribute("d", before, timeout=MOVE_MS)
    watched.check(server)


def test_conformal_intervals_are_shown_beside_the_models_own(server, flights, open_page):
    declaration = {"family": "gaussian", "target": "delay", "conformal": True}
    model = learned(server, flights, "delay", declaration)
    watched = open_page(server.address)
    page = watched.page
    rows = page.locator("#conformal tr")
    expect(rows).to_have_count(2)
    scores = model["conformal"]
    expect(rows.nth(0)).to_contain_text(f"{100 * scores['coverage']:.1f}")
    expect(rows.nth(1)).to_contain_text(f"{100 * scores['model_coverage']:.1f}")
    expect(page.locator("#conformal-note")).to_contain_text(f"{scores['rows']} rows")
    for part in ("#part-levels", "#part-confusion", "#coefficients-of"):
        expect(page.locator(part)).to_be_hidden()
    watched.check(server)


def test_the_keyboard_chooses_a_class(server, flights, open_page):
    learned(server, flights, "cause", CAUSE)
    watched = open_page(server.address)
    page = watched.page
    choice = page.locator("#coefficients-of")
    expect(choice).to_be_visible()
    page.locator("#loss-plot").focus()
    page.keyboard.press("Tab")
    expect(choice).to_be_focused()
    assert choice.evaluate("(node) => getComputedStyle(node).outlineStyle") == "solid"
    page.keyboard.press("ArrowDown")
    expect(page.locator("#coefficients-note")).to_contain_text("weather against carrier")
    # The model is another one: the choice starts anew.
    learned(server, flights, "delay", DELAY)
    page.goto(f"{server.address}/#/delay")
    expect(page.locator("#coefficients-note")).to_contain_text("Of the level 0.1")
    watched.check(server)


def test_all_kinds_can_be_read_on_phones_in_light_and_dark(server, flights, open_page):
    learned(server, flights, "cause", CAUSE)
    learned(server, flights, "delay", DELAY)
    declaration = {"family": "gaussian", "target": "delay", "conformal": True}
    learned(server, flights, "expected", declaration)
    shown = {"cause": "#confusion td", "delay": "#levels td", "expected": "#conformal td"}
    sizes = {"phone": {"width": 360, "height": 740}, "desktop": {"width": 1280, "height": 1900}}
    with LearnInBackground(server, "cause", CauseRows(flights)):
        for scheme in ("light", "dark"):
            for size, viewport in sizes.items():
                for name, part in shown.items():
                    watched = open_page(
                        f"{server.address}/#/{name}",
                        color_scheme=scheme,
                        viewport=viewport,
                        reduced_motion="reduce",
                    )
                    page = watched.page
                    expect(page.locator(part).first).to_be_visible()
                    assert wait_until(lambda page=page: forest_fits(page))
                    assert page_overflow(page) == 0
                    contrasts = page.evaluate(CONTRASTS)
                    assert [text for text in contrasts if text["ratio"] < LEAST_CONTRAST] == []
                    expect(tile(page, "Rows")).not_to_be_empty()
                    page.locator(part).first.scroll_into_view_if_needed()
                    take_picture(page, f"{name}-{size}-{scheme}")
                    watched.check(server)


class CauseRows:
    """Flights whose target is the cause, for `LearnInBackground`."""

    def __init__(self, flights):
        self.flights = flights

    def rows(self, count):
        return self.flights.rows(count, "cause")
