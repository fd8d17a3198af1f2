"""Values of plain Python code as terms, to compare what two expressions depend on without running the code."""
