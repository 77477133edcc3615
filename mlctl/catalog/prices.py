"""What the prices of VM sizes are prices of, and what low priority costs of them."""

from __future__ import annotations

OF = "Linux, pay as you go, eastus"
SOURCE = "Azure's retail prices, by karpenter-provider-azure"  # the file: vm_sizes.csv
LOW_PRIORITY_RATIO = 0.20  # no price list has low-priority nodes
LOW_PRIORITY_SOURCE = 'hi-ml: "around 20% of the original price"'
