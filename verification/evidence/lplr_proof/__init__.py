"""Every numeric step of the proofs about LPLR (Proposition 4.1 to Lemma 4.5), in the order of the supplement.

One module per part of a proof; each exports ``STEPS``. Parameters that are unbounded in the paper are bounded
by substitution: t = 1/d, s = 1/sqrt(d), g = 1/gamma, r = 1/sqrt(n), v = 1/sqrt(L) for a logarithm L. d, gamma
and n are then real numbers from 1 on, so a proof covers more than the paper needs. Whole numbers matter only
in counterexamples, which are given in the paper's own parameters.
"""
