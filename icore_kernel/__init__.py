"""The iCORE kernel: grounding, three meanings of one term, exploration, proof."""
