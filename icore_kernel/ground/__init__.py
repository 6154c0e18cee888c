"""From a package and the theory's text to a `System`: universe, slots, formulas, updates, clauses."""
