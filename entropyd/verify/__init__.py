"""What anyone can recompute offline. Raises; never returns a verdict as a bool.

from entropyd.verify import check_proof

report = check_proof(Path("draw.json").read_bytes())
print(report.result, report.checked, report.not_checked)
"""

from entropyd.verify.proof import check_proof
from entropyd.verify.report import Kind, Report

__all__ = ["Kind", "Report", "check_proof"]
