"""The commands of docs/service.md, run as they stand there by curl."""

import json
import pathlib
import re
import subprocess

GUIDE = pathlib.Path(__file__).parents[4] / "docs" / "service.md"


def commands():
    """The curl commands of the first block of the guide, continued lines joined."""
    block = re.search(r"(?m)^    kalmia serve.*\n(?:^    .*\n)+", GUIDE.read_text())[0]
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    return [line.strip() for line in lines if line.strip().startswith("curl ")]


def run(command, server):
    command = command.replace("localhost:8642", f"127.0.0.1:{server.port}")
    shown = subprocess.run(["sh", "-c", f"{command} -s"], stdout=subprocess.PIPE, check=True)
    return json.loads(shown.stdout)


def test_the_commands_of_the_guide_work(server):
    create, learn, predict = commands()
    assert run(create, server)["state"] == "empty"
    assert run(learn, server) == {"sequence": 1, "rows": 1, "duplicate": False}
    assert run(learn, server) == {"sequence": 1, "rows": 1, "duplicate": True}
    (prediction,) = run(predict, server)["predictions"]
    assert prediction["lower"] < prediction["mean"] < prediction["upper"]
    assert set(prediction) == {"mean", "lower", "upper", "linear", "linear_sd", "predicted"}


def test_a_model_file_goes_out_and_in(server, tmp_path):
    create, learn, predict = commands()
    run(create, server)
    run(learn, server)
    model = tmp_path / "late.kalmia"
    address = f"http://127.0.0.1:{server.port}/v1/models"
    subprocess.run(["curl", "-sf", f"{address}/late/snapshot", "-o", model], check=True)
    kind = "Content-Type: application/octet-stream"
    upload = ["curl", "-sf", "-X", "PUT", f"{address}/copy", "-H", kind]
    subprocess.run([*upload, "--data-binary", f"@{model}"], check=True, capture_output=True)
    assert run(predict.replace("late", "copy"), server)["predictions"] == (
        run(predict, server)["predictions"]
    )
