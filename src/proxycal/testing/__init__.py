"""Tables whose truth is known, to try things on."""
