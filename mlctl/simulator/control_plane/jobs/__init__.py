"""Jobs of a simulated workspace: submitting, cancelling and showing them."""
