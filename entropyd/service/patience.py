"""How long a call waits before it is told to come back."""

from collections.abc import Callable

from entropyd.errors import RequestError
from entropyd.service.identity import Call


class Patience:
    """The limits of waiting, which a reload may change for calls to come."""

    def __init__(
        self, clock_ns: Callable[[], int], *, max_hold_ns: int, answer_before_deadline_ns: int
    ) -> None:
        """Make it.

        Args:
            clock_ns: monotonic clock.
            max_hold_ns: the longest that a call waits for entropy.
            answer_before_deadline_ns: how long before its deadline a caller is told to come back.
        """
        self._clock_ns = clock_ns
        self._max_hold_ns = max_hold_ns
        self._answer_before_ns = answer_before_deadline_ns

    def set(self, *, max_hold_ns: int, answer_before_deadline_ns: int) -> None:
        """Take other limits for calls to come; what waits already keeps its own."""
        self._max_hold_ns = max_hold_ns
        self._answer_before_ns = answer_before_deadline_ns

    def of_stream(self, call: Call) -> int:
        """Return when what a stream asks for now is told to come back.

        A stream needs no deadline: each of its hands is answered within the limit. Where it has
        one, hands that come too near to its end are told so at once.
        """
        limit_ns = self._clock_ns() + self._max_hold_ns
        if call.deadline_ns is None:
            return limit_ns
        return min(call.deadline_ns - self._answer_before_ns, limit_ns)

    def answer_by_ns(self, call: Call) -> int:
        """Return when a waiting call is told to come back: before its deadline, or at the limit.

        Raises:
            RequestError: there is no deadline, or too little time to answer in.
        """
        now_ns = self._clock_ns()
        if call.deadline_ns is None:
            raise RequestError(
                "deadline", "there is none; set one, 10 s is a good value, so that no call hangs"
            )
        answer_by_ns = call.deadline_ns - self._answer_before_ns
        if answer_by_ns <= now_ns:
            left_ms = max(0, call.deadline_ns - now_ns) // 1_000_000
            raise RequestError(
                "deadline",
                f"{left_ms} ms are left; expected more than"
                f" {self._answer_before_ns // 1_000_000} ms, 10 s is a good value",
            )
        return min(answer_by_ns, now_ns + self._max_hold_ns)
