"""The lease of an apply on Azure, through the command line and TLS, on the emulator."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from mlctl.backends.ports.lease import LeaseLost
from mlctl.kinds.address import Address, Scope
from tests.builders.azure import connected
from tests.builders.leased import CI
from tests.builders.served import Served
from tests.builders.shell import Run, cluster


def test_another_holds_it_and_is_named_waited_for_broken_and_stops(
    mlctl: Run, tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = Scope(str(uuid4()), "rg", "ws")
    theirs = connected(served, scope, monkeypatch)
    monkeypatch.setenv("MLCTL_BACKEND", "azure")
    where = ("--subscription", scope.subscription, "-g", "rg", "-w", "ws")
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    apply = ("apply", cluster(tmp_path / "cpu.yml"), "--yes", *where)
    assert mlctl(*apply).code == 0
    cluster(tmp_path / "cpu.yml", most=5)
    leased = theirs.under(theirs.leases.acquire("scoring", CI))

    held = mlctl(*apply, "--lock-timeout", "0.01s")
    assert held.code == 10
    assert "Waiting up to 0.01s" in held.err
    assert "held by runner@agent, process 7" in held.err
    (shown,) = mlctl("lock", "show", "-o", "json", *where).json
    assert (shown["holder"], shown["token"]) == (CI.as_data(), 2)

    assert mlctl("lock", "break", "--yes", *where).code == 0
    assert mlctl("lock", "show", "-o", "json", *where).json == []
    assert "1 changed" in mlctl(*apply).out

    with pytest.raises(LeaseLost):
        leased.delete(Address("compute", "cpu"))
    assert mlctl("compute", "show", "-n", "cpu", *where).json["max_instances"] == 5
    theirs.close()
