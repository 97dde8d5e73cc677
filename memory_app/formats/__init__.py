"""How dates are written where Django writes them (the admin), by language."""
