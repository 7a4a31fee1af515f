"""Table schemas, one module per package of `tasks`; `columns` has the shared columns. Checked strictly, without coercion."""
