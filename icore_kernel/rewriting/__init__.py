"""Does the order of events matter? Appendix B decided on the fully explored productive quotient."""
