"""Table schemas, one module per package of `tasks`; `columns` has shared columns. Checked strictly, no coercion."""
