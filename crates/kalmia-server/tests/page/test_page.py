"""The page of `kalmia serve` in a real browser, against the real server."""

import os
import re
from pathlib import Path

from conftest import LearnInBackground, wait_until
from playwright.sync_api import expect

LATE = {"family": "bernoulli", "target": "late"}
RETRY_MS = 25_000
MOVE_MS = 15_000
LEAST_CONTRAST = 4.5

# The contrast of every visible text with the nearest opaque background behind it.
CONTRASTS = """
() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (text) => {
    const [r, g, b] = channels(text).slice(0, 3)
      .map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      const [, , , alpha = 1] = channels(color);
      if (alpha === 1) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const hasText = (node) => [...node.childNodes]
    .some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
  return [...document.body.querySelectorAll("*:not(script)")]
    .filter((node) => hasText(node) && node.checkVisibility())
    .map((node) => {
      const style = getComputedStyle(node);
      const color = node instanceof SVGElement ? style.fill : style.color;
      const [low, high] = [light(color), light(background(node))].sort((a, b) => a - b);
      return { text: node.textContent, ratio: (high + 0.05) / (low + 0.05) };
    });
}
"""


def declare(server, name="late", declaration=LATE):
    server.must("PUT", f"/v1/models/{name}", declaration)


def learned(server, flights, name="late", rows=600):
    declare(server, name)
    server.must("POST", f"/v1/models/{name}/learn", flights.rows(rows))


def forest_fits(page):
    """Whether the intervals are drawn for the width that their cells have now."""
    # one look at the document: an event may replace the strips between two
    return page.evaluate(
        """() => {
             const strips = [...document.querySelectorAll("#coefficients .strip svg")];
             const fits = (strip) =>
               Math.abs(strip.getAttribute("width") - strip.parentElement.clientWidth) <= 1;
             return strips.length > 0 && strips.every(fits);
           }"""
    )


def tile(page, label):
    """The value of one of the numbers at the top."""
    label = page.get_by_text(label, exact=True)
    return page.locator("#tiles div", has=label).locator("dd").first


def page_overflow(page):
    return page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def take_picture(page, name):
    folder = os.environ.get("KALMIA_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_plots_move_while_rows_are_learned(server, flights, open_page):
    learned(server, flights, rows=60)
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.locator("#loss-model")).to_have_count(1)
    expect(page.locator("#loss-constant")).to_have_count(1)
    page.evaluate("() => { window.sameDocument = true; }")
    with LearnInBackground(server, "late", flights):
        for _ in range(2):
            for line in (page.locator("#loss-model"), page.locator("#loss-constant")):
                expect(line).not_to_have_attribute("d", line.get_attribute("d"), timeout=MOVE_MS)
    assert page.evaluate("() => window.sameDocument") is True

    # At rest the page shows what the server answers.
    answer = server.must("GET", "/v1/models/late")
    expect(tile(page, "Rows")).to_have_text(f"{answer['rows']:,}".replace(",", "\u202f"))
    expect(page.locator(".label-model").first).to_contain_text(
        f"{answer['progressive']['loss']:.4f}"
    )
    expect(page.locator("#coefficients tr")).to_have_count(len(answer["coefficients"]))
    strongest = max(answer["coefficients"], key=lambda row: abs(row["z"]))
    expect(page.locator("#coefficients th").first).to_have_text(strongest["name"])
    expect(page.locator("#coefficients .whisker")).to_have_count(len(answer["coefficients"]))
    expect(page.locator(".calibration-mark")).to_have_count(len(answer["calibration"]))
    expect(page.locator("#calibration-plot svg")).to_have_attribute("role", "img")
    expect(page.locator("#drift-verdict")).not_to_be_empty()
    watched.check(server)


def test_the_policy_is_strict_and_data_is_only_text(server, open_page):
    declare(server, "odd", {"family": "gaussian", "target": "y"})
    column = "<img src=x onerror=alert(1)>"
    rows = [{column: i % 7, "y": i % 7 + i % 3} for i in range(50)]
    server.must("POST", "/v1/models/odd/learn", rows)
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#coefficients th", has_text=column)).to_have_count(1)
    assert page.locator("#coefficients img").count() == 0
    expect(page.locator("#part-calibration")).to_be_hidden()
    policy = watched.response.headers["content-security-policy"]
    for directive in ("default-src 'none'", "script-src 'sha256-", "style-src 'sha256-"):
        assert directive in policy
    assert "unsafe" not in policy
    watched.check(server)


def test_refused_requests_are_shown(server, flights, open_page):
    learned(server, flights)
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#errors-none")).to_be_visible()
    incomplete = flights.row()
    incomplete["hour"] = None
    status, answer = server.call("POST", "/v1/models/late/learn", [incomplete])
    assert status >= 400
    first = page.locator("#errors tr").first
    expect(first).to_contain_text(answer["error"]["code"])
    expect(page.locator("#errors-none")).to_be_hidden()
    watched.check(server)


def test_labels_that_come_later(server, flights, open_page):
    learned(server, flights)
    watched = open_page(server.address)
    page = watched.page
    waiting = tile(page, "Pending labels")
    expect(waiting).to_have_text("0")
    rows = flights.rows(3)
    labels = [{"id": f"a{i}", "y": row.pop("late")} for i, row in enumerate(rows)]
    rows = [{**row, "id": label["id"]} for row, label in zip(rows, labels, strict=True)]
    server.must("POST", "/v1/models/late/predict", rows)
    expect(waiting).to_have_text("3")
    server.must("POST", "/v1/models/late/label", labels[:2])
    expect(waiting).to_have_text("1")
    expect(page.locator("#tiles")).to_contain_text("2 rows labelled later")
    loss = server.must("GET", "/v1/models/late")["served"]["loss"]
    shown = float(tile(page, "Loss as served").inner_text())
    assert abs(shown - loss) <= 1e-3 * loss
    watched.check(server)


def test_an_empty_server_says_how_to_start(server, flights, open_page):
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#start-put")).to_contain_text(
        f"curl -X PUT {server.address}/v1/models/late"
    )
    expect(page.locator("#start-learn")).to_contain_text(f"{server.address}/v1/models/late/learn")
    take_picture(page, "start")
    declare(server)
    expect(page.locator("#part-empty")).to_contain_text("The first learned rows decide its columns")
    server.must("POST", "/v1/models/late/learn", flights.rows(5))
    expect(page.locator("#loss-model")).to_have_count(1)
    expect(page.locator("#part-empty")).to_be_hidden()
    watched.check(server)


def test_a_deleted_model_is_missed_and_comes_back(server, flights, open_page):
    learned(server, flights, "kept")
    learned(server, flights, "late")
    watched = open_page(f"{server.address}/#/late")
    page = watched.page
    expect(page.locator("#model-name")).to_have_text("late")
    status, _ = server.call("DELETE", "/v1/models/late")
    assert status == 204
    expect(page.locator("#missing-title")).to_have_text("No model named late", timeout=RETRY_MS)
    expect(page.locator("#models-list a")).to_have_count(1)
    learned(server, flights, "late")
    expect(page.locator("#loss-model")).to_be_visible(timeout=RETRY_MS)
    watched.check(server)


def test_the_keyboard_is_enough(server, flights, open_page):
    learned(server, flights, "first")
    learned(server, flights, "second")
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#model-name")).to_have_text("first")
    page.keyboard.press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#theme")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#models-list a").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    chosen = page.locator("#models-list a").nth(1)
    expect(chosen).to_be_focused()
    outline = chosen.evaluate("(node) => getComputedStyle(node).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#model-name")).to_have_text("second")
    expect(chosen).to_have_attribute("aria-current", "page")

    # On to the plot, whose values arrow keys read.
    page.keyboard.press("Tab")
    expect(page.locator("#loss-plot")).to_be_focused()
    course = server.must("GET", "/v1/models/second")["course"]
    reading = page.locator("#loss-reading")
    page.keyboard.press("Home")
    expect(reading).to_contain_text(f"Row {course[0]['rows']}: this model")
    page.keyboard.press("ArrowRight")
    expect(reading).to_contain_text(f"Row {course[1]['rows']}: this model")
    expect(page.locator("#loss-tip")).to_be_visible()

    # The address names the model: a reload keeps it, and the skip link does not change it.
    page.reload()
    expect(page.locator("#model-name")).to_have_text("second")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert page.url.endswith("#/second")
    watched.check(server)


def test_the_pointer_reads_values_and_the_scale_can_be_changed(server, flights, open_page):
    learned(server, flights)
    watched = open_page(server.address)
    page = watched.page
    assert wait_until(lambda: forest_fits(page))
    page.set_viewport_size({"width": 700, "height": 900})
    assert wait_until(lambda: forest_fits(page))
    plot = page.locator("#loss-plot svg").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + plot["height"] / 2)
    expect(page.locator("#loss-tip")).to_contain_text("this model")
    page.mouse.move(5, 5)
    expect(page.locator("#loss-tip")).to_be_hidden()
    whisker = page.locator("#coefficients .whisker").first
    before = whisker.get_attribute("x1")
    page.get_by_role("radio", name="z").check()
    expect(whisker).not_to_have_attribute("x1", before)
    watched.check(server)


def test_many_coefficients_are_shown_in_parts(server, open_page):
    declare(server, "wide", {"family": "gaussian", "target": "y"})
    rows = [{f"x{j}": (i * (j + 3)) % 11 for j in range(30)} | {"y": i % 11} for i in range(80)]
    server.must("POST", "/v1/models/wide/learn", rows)
    names = [row["name"] for row in server.must("GET", "/v1/models/wide")["coefficients"]]
    watched = open_page(server.address)
    page = watched.page
    shown = page.locator("#coefficients tr")
    expect(shown).to_have_count(20)
    page.locator("#coefficients-more").click()
    expect(shown).to_have_count(len(names))
    expect(page.locator("#coefficients-more")).to_be_hidden()
    page.locator("#coefficients-filter").fill("X2")
    expect(shown).to_have_count(sum("x2" in name for name in names))
    page.locator("#coefficients-filter").fill("nothing has this name")
    expect(page.locator("#coefficients-none")).to_contain_text("nothing has this name")
    watched.check(server)


def test_a_phone_needs_no_sideways_scrolling(server, flights, open_page):
    learned(server, flights)
    server.call("POST", "/v1/models/late/learn", [{"late": 1}])
    watched = open_page(server.address, viewport={"width": 360, "height": 740})
    page = watched.page
    expect(page.locator("#coefficients tr").first).to_be_visible()
    expect(page.locator("#errors tr")).to_have_count(1)
    assert page_overflow(page) == 0
    boxes = page.locator(".scroll").all()
    assert any(box.evaluate("(box) => box.scrollWidth > box.clientWidth") for box in boxes)
    watched.check(server)


def test_light_and_dark_can_be_read(server, flights, open_page):
    learned(server, flights)
    shown = {}
    for scheme, other in (("light", "Dark"), ("dark", "Light")):
        watched = open_page(server.address, color_scheme=scheme, reduced_motion="reduce")
        page = watched.page
        expect(page.locator(".calibration-mark").first).to_be_visible()
        expect(page.locator("#theme")).to_have_text(other)
        for _ in range(2):
            contrasts = page.evaluate(CONTRASTS)
            assert len(contrasts) > 50
            assert [text for text in contrasts if text["ratio"] < LEAST_CONTRAST] == []
            color = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
            shown.setdefault(page.locator("#theme").inner_text(), set()).add(color)
            page.locator("#theme").click()
        watched.check(server)
    # The switch gives the colours that the system's setting gives.
    assert {name: len(colors) for name, colors in shown.items()} == {"Dark": 1, "Light": 1}
    assert shown["Dark"] != shown["Light"]


def test_a_token_is_asked_for_and_kept_in_the_tab(start_server, flights, open_page):
    server = start_server(token="correct-horse")
    learned(server, flights)
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#view-token")).to_be_visible()
    expect(page.locator("#token")).to_be_focused()
    take_picture(page, "token")
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#token-error")).to_contain_text("does not accept this token")
    page.keyboard.type("größe")
    page.keyboard.press("Enter")
    expect(page.locator("#token")).to_be_focused()
    expect(page.locator("#token")).to_have_value("")
    page.keyboard.type("correct-horse")
    page.keyboard.press("Enter")
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page.locator("#loss-model")).to_have_count(1)
    page.reload()
    expect(page.locator("#loss-model")).to_have_count(1)
    assert page.evaluate("() => localStorage.length") == 0
    assert "horse" not in page.url
    watched.check(server, expected_in_console="401")


def test_a_lost_connection_comes_back(server, flights, open_page):
    learned(server, flights)
    watched = open_page(server.address)
    page = watched.page
    expect(page.locator("#connection")).to_have_text("Live")
    assert server.stop() == 0
    expect(page.locator("#connection")).to_contain_text("Connection lost")
    expect(page.locator("#countdown")).to_have_text(re.compile(r"in \d+\s+s"))
    expect(page.locator("#loss-model")).to_have_count(1)
    line = page.locator("#loss-model")
    before = line.get_attribute("d")
    server.start()
    expect(page.locator("#connection")).to_have_text("Live again", timeout=RETRY_MS)
    expect(page.locator("#connection")).to_have_text("Live", timeout=RETRY_MS)
    server.must("POST", "/v1/models/late/learn", flights.rows(200))
    expect(line).not_to_have_attribute("d", before, timeout=MOVE_MS)
    watched.check(server, expected_in_console="net::ERR_")


def test_pictures(server, flights, open_page):
    """Several models at work at three sizes; KALMIA_SCREENSHOTS is where the pictures go."""
    learned(server, flights, rows=6000)
    for name, family in (("delay", "gaussian"), ("complaints", "poisson")):
        declare(server, name, {"family": family, "target": name})
        server.must("POST", f"/v1/models/{name}/learn", flights.rows(900, name))
    declare(server, "tomorrow", {"family": "bernoulli", "target": "late"})
    server.call("POST", "/v1/models/late/learn", [{"hour": 9}])
    rows = [{**row, "id": f"a{i}"} for i, row in enumerate(flights.rows(40))]
    labels = [{"id": row["id"], "y": row.pop("late")} for row in rows]
    server.must("POST", "/v1/models/late/predict", rows)
    server.must("POST", "/v1/models/late/label", labels[:28])
    sizes = {
        "desktop-light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 1240}},
        "desktop-dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 1240}},
        "phone": {"color_scheme": "light", "viewport": {"width": 360, "height": 740}},
    }
    with LearnInBackground(server, "late", flights):
        for name, options in sizes.items():
            watched = open_page(f"{server.address}/#/late", device_scale_factor=2, **options)
            expect(watched.page.locator(".calibration-mark").first).to_be_attached()
            expect(watched.page.locator("#models-list a")).to_have_count(4)
            assert page_overflow(watched.page) == 0
            take_picture(watched.page, name)
            watched.check(server)
