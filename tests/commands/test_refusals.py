"""Every command that speaks JSON tells a refusal as one object, and writes nothing."""

import click
import pytest

from flverify.cli import main

WRONG = "no such thing!"


def speaking():
    """Commands with an option --json, whatever they are called."""
    ctx = click.Context(main)
    found = (main.get_command(ctx, name) for name in main.list_commands(ctx))
    return [one for one in found if any("--json" in p.opts for p in one.params)]


def flag(option):
    return max(option.opts, key=len)


def takes_value(parameter):
    return isinstance(parameter, click.Option) and not parameter.is_flag


def asked(command):
    """The command with all that it needs, each of it wrong, and --json."""
    words = [command.name]
    for one in command.params:
        if isinstance(one, click.Argument):
            words.append(WRONG)
        elif "--json" in one.opts:
            words.append("--json")
        elif one.required:
            words += [flag(one), WRONG]
    return words


COMMANDS = [pytest.param(one, id=one.name) for one in speaking()]
OPTIONS = [
    pytest.param(one, option, id=f"{one.name} {flag(option)}")
    for one in speaking()
    for option in one.params
    if takes_value(option)
]


@pytest.fixture
def refuses(run, tmp_path, monkeypatch):
    """Run where a file would be noticed and return the reason, which is told twice."""
    monkeypatch.chdir(tmp_path)

    def check(name, words):
        ran = run(*words)
        assert ran.code == 2, ran
        assert ran.json["format"] == f"flverify/{name}"
        assert (ran.json["version"], ran.json["status"]) == (1, "refused")
        assert ran.stderr == f"error: {ran.json['reason']}\n"
        assert list(tmp_path.iterdir()) == []
        return ran.json["reason"]

    return check


def test_almost_every_command_speaks_json():
    silent = set(main.list_commands(click.Context(main))) - {c.name for c in speaking()}
    assert silent == {"explore"}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_it_is_about_is_wrong(refuses, command):
    refuses(command.name, asked(command))


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_does_not_exist(refuses, command):
    reason = refuses(command.name, [*asked(command), "--nonsense"])
    assert "No such option" in reason


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_with_a_wrong_value(refuses, command, option):
    refuses(command.name, [*asked(command), flag(option), WRONG])


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_without_its_value(refuses, command, option):
    reason = refuses(command.name, [*asked(command), flag(option)])
    assert "requires an argument" in reason
    assert f"{command.name} --help`" in reason


def test_after_two_dashes_nothing_asks_for_json(run):
    ran = run("law", "--", "--json")
    assert (ran.code, ran.stdout) == (2, "")


def test_a_record_of_before_stays_where_an_audit_is_refused(run, tmp_path):
    record = tmp_path / "record.json"
    record.write_text("before", encoding="utf-8")
    ran = run("audit", "nobody", "--out", record, "--json")
    assert ran.json["status"] == "refused"
    assert record.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (["nonsense", "--json"], "command", "No such command 'nonsense'"),
        (["nonsense", "--json", "out.json"], "command", "No such command"),
        (["--json"], "command", "No such option"),
        (["--json", "certify"], "command", "No such option"),
        (["--nonsense", "--json"], "command", "No such option"),
        (["--json=3", "nonsense"], "command", "No such option"),
        (["explore", "--json"], "explore", "No such option"),
        (["explore", "--nonsense", "--json"], "explore", "No such option"),
    ],
)
def test_mistakes_before_any_command_runs(refuses, words, kind, said):
    assert said in refuses(kind, words)


def test_mistakes_are_told_in_words_where_nobody_asks_for_json(run):
    for words in (["nonsense"], ["--nonsense"], ["nonsense", "--", "--json"]):
        ran = run(*words)
        assert (ran.code, ran.stdout) == (2, "")
        assert ran.stderr.count("\n") == 1
