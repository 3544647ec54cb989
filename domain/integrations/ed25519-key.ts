/** The prime of the field of Ed25519, and the constant d of its curve (RFC 8032, 5.1). */
const PRIME = 2n ** 255n - 19n;
const KEY_BYTES = 32;

const power = (base: bigint, exponent: bigint): bigint => {
  let [result, square] = [1n, base % PRIME];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % PRIME;
    square = (square * square) % PRIME;
  }
  return result;
};

const inverse = (value: bigint): bigint => power(value, PRIME - 2n);

const D = (PRIME - ((121_665n * inverse(121_666n)) % PRIME)) % PRIME;

const isSquare = (value: bigint): boolean => value === 0n || power(value, (PRIME - 1n) / 2n) === 1n;

/** x² of the point (RFC 8032, 5.1.3): a square only if there is such a point. */
const squareOfX = (y: bigint): bigint => {
  const ySquare = (y * y) % PRIME;
  return ((ySquare - 1n + PRIME) * inverse((D * ySquare + 1n) % PRIME)) % PRIME;
};

/** The y coordinate of twice the point. Doubling a point of a small order three times gives the neutral point. */
const doubledY = (y: bigint): bigint => {
  const [ySquare, xSquare] = [(y * y) % PRIME, squareOfX(y)];
  const product = (((D * xSquare) % PRIME) * ySquare) % PRIME;
  return ((ySquare + xSquare) * inverse((1n - product + PRIME) % PRIME)) % PRIME;
};

/** A point of the curve, and not one of the eight points with which anyone can sign without the private key. */
export const isEd25519Key = (key: Uint8Array): boolean => {
  if (key.length !== KEY_BYTES) return false;
  const y = BigInt(`0x${Buffer.from(key).reverse().toString('hex')}`) & ((1n << 255n) - 1n);
  if (y >= PRIME || !isSquare(squareOfX(y))) return false;
  return doubledY(doubledY(doubledY(y))) !== 1n;
};
