"""Coefficient certificates as Coq lemmas over the reals, for whoever has Coq.

Every step becomes an existence statement that `field` and a tactic for products and
sums of nonnegative terms settle; nothing is searched. Coq's division is total, so the
conditions that quotients and roots are defined are hypotheses of the lemma.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from flverify._core.checks import instance
from flverify._core.errors import InputError
from flverify.certify._scalar.coq_lemma import RESERVED, lemma
from flverify.certify._scalar.parts import CoefficientCertificate

PATIENCE = 120.0  # seconds; past it the check has no answer
AXIOMS = {  # that Coq's library of the reals rests on, since Coq 8.11
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
_LEMMA = re.compile(r"^\s*(?:Lemma|Theorem|Corollary|Fact)\s+(\w+)", re.MULTILINE)
_ASSUMED = re.compile(r"^([\w.]+)\s*:", re.MULTILINE)

PREAMBLE = """\
Require Import Reals Lra.
Open Scope R_scope.

Lemma factor_positive : forall x : R, 0 <= x -> x <> 0 -> 0 < x.
Proof. intros x H K. destruct H as [H|H]; [exact H | exfalso; apply K; auto]. Qed.

Ltac weak :=
  first
  [ assumption
  | apply Rlt_le; assumption
  | apply Rplus_le_le_0_compat; weak
  | apply Rmult_le_pos; weak
  | apply pow_le; weak
  | apply pow2_ge_0
  | match goal with
    | |- 0 <= ?e ^ ?n =>
      let half := eval compute in (Nat.div2 n) in
      replace (e ^ n) with ((e ^ half) ^ 2) by ring; apply pow2_ge_0
    end
  | apply Rlt_le, Rinv_0_lt_compat; strict
  | lra ]
with strict :=
  first
  [ assumption
  | apply Rplus_lt_le_0_compat; [strict | weak]
  | apply Rplus_le_lt_0_compat; [weak | strict]
  | apply Rmult_lt_0_compat; strict
  | apply pow_lt; strict
  | apply Rinv_0_lt_compat; strict
  | lra ].
Ltac nonzero :=
  repeat split;
  first
  [ assumption
  | apply Rgt_not_eq; unfold Rgt; strict
  | apply Rgt_not_eq; unfold Rgt; ring_simplify; strict
  | apply Rlt_not_eq, Ropp_lt_cancel; rewrite Ropp_0; ring_simplify; strict
  | match goal with
    | H : ?e <> 0 |- ?p <> 0 =>
      replace p with (e ^ 2) by ring; apply pow_nonzero; exact H
    end
  | let Z := fresh in intro Z;
    match goal with
    | H : ?e <> 0 |- _ => apply H; first [lra | rewrite Z; field; nonzero]
    end ].
Ltac rise :=
  apply factor_positive;
  [ lra
  | first
    [ assumption
    | let Z := fresh in intro Z;
      match goal with
      | H : 0 < ?e |- _ =>
        let K := fresh in
        assert (K : e = 0) by (rewrite Z; field; nonzero); rewrite K in H; lra
      | H : ?e <> 0 |- _ => apply H; rewrite Z; field; nonzero
      end ] ].
"""


def export(certificate: CoefficientCertificate, name: str) -> str:
    """Write the lemmas of a certificate, with proofs, as one Coq file.

    Parameters
    ----------
    certificate : CoefficientCertificate
    name : str
        Of the lemma; parts are numbered if there are several.

    Raises
    ------
    InputError
        If the name is no Coq identifier, or a word that Coq reserves, or the
        certificate is none.

    Examples
    --------
    >>> from flverify.certify.coefficients import certify
    >>> import sympy
    >>> x = sympy.Symbol("x", positive=True)
    >>> text = export(certify([x <= 1], x**2 <= 1), "square")
    >>> print(text[len(PREAMBLE) : text.index("Proof.", len(PREAMBLE))].strip())
    Lemma square : forall x : R,
      0 < x ->
      0 <= (1 + ((- 1) * x)) ->
      0 <= (1 + ((- 1) * (x ^ 2))).
    """
    _require_identifier(name)
    instance(
        certificate,
        "certificate",
        CoefficientCertificate,
        "flverify.certify.coefficients.certify(hypotheses, conclusion)",
    )
    several = len(certificate.parts) > 1
    lemmas = [
        lemma(part, f"{name}_{k}" if several else name)
        for k, part in enumerate(certificate.parts, 1)
    ]
    return "\n".join([PREAMBLE, *lemmas])


def _require_identifier(name: object) -> None:
    plain = isinstance(name, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    if not plain or name in (*RESERVED, "_"):
        raise InputError(
            "the name of a lemma must be letters, digits and _, not a digit first, and "
            f"no word of Coq; got {name!r}; rename it."
        )


def check(text: str, patience: float = PATIENCE) -> bool | None:
    """Whether Coq accepts a file; None if it is not installed or not back in time.

    Its lemmas may rest on the axioms of Coq's own reals, and on nothing else that is
    not proved.

    Parameters
    ----------
    text : str
    patience : float
        Seconds before Coq is stopped.
    """
    coqc = shutil.which("coqc")
    if coqc is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lemma.v"
        asked = [f"Print Assumptions {name}." for name in _LEMMA.findall(text)]
        path.write_text("\n".join([text, *asked, ""]), encoding="utf-8")
        command = [coqc, "-q", str(path)]
        try:
            done = subprocess.run(  # noqa: S603 - coqc on our own file, no shell
                command,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=patience,
            )
        except subprocess.TimeoutExpired:
            return None
    assumed = {*_ASSUMED.findall(done.stdout)} - {"Axioms"}
    return done.returncode == 0 and assumed <= AXIOMS
