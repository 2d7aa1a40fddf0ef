"""Claims of papers, the judge that gives them verdicts, and the ledger of verdicts."""
