"""One module per theorem, lemma or proposition; each exports ``CLAIMS``."""
