"""Ed25519 of RFC 8032, section 5.1, as plainly as it can be written. Not constant-time."""

import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def number(data):
    return int.from_bytes(data, "little")


def sha512_number(data):
    return number(hashlib.sha512(data).digest())


def add(a, b):
    """Add points (X, Y, Z, T) with x = X/Z, y = Y/Z, x * y = T/Z (RFC 8032, 5.1.4)."""
    one = (a[1] - a[0]) * (b[1] - b[0]) % P
    two = (a[1] + a[0]) * (b[1] + b[0]) % P
    three, four = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = two - one, four - three, four + three, two + one
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(scalar, point):
    result = (0, 1, 1, 0)
    for bit in format(scalar, "b"):
        result = add(result, result)
        if bit == "1":
            result = add(result, point)
    return result


def x_of(y, odd):
    """Return the x of a point, or None if no point of the curve has this y and this sign."""
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and odd):
        return None
    return x if x % 2 == odd else P - x


def point(y, odd):
    x = x_of(y, odd)
    return None if x is None else (x, y, 1, x * y % P)


BASE = point(4 * pow(5, -1, P) % P, 0)


def compress(a):
    inverse = pow(a[2], -1, P)
    x, y = a[0] * inverse % P, a[1] * inverse % P
    return (y | x % 2 << 255).to_bytes(32, "little")


def decompress(data):
    return point(number(data) % 2**255, number(data) >> 255)


def expand(seed):
    digest = hashlib.sha512(seed).digest()
    scalar = number(digest[:32]) & (2**254 - 8) | 2**254
    return scalar, digest[32:]


def public_key(seed):
    return compress(times(expand(seed)[0], BASE))


def sign(seed, message):
    scalar, prefix = expand(seed)
    key = compress(times(scalar, BASE))
    r = sha512_number(prefix + message) % L
    commitment = compress(times(r, BASE))
    challenge = sha512_number(commitment + key + message) % L
    return commitment + ((r + challenge * scalar) % L).to_bytes(32, "little")


def verify(key, message, signature):
    """Return whether the signature is the key's, by the equation without cofactor."""
    if len(key) != 32 or len(signature) != 64:
        return False
    a, s = decompress(key), number(signature[32:])
    if a is None or s >= L:
        return False
    challenge = sha512_number(signature[:32] + key + message) % L
    minus_a = (P - a[0], a[1], 1, P - a[3])
    return compress(add(times(s, BASE), times(challenge, minus_a))) == signature[:32]
