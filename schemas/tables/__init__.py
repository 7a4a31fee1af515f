"""Table schemas, one module per package of `tasks`; `columns` has shared columns. Checked strictly, without coercion."""
