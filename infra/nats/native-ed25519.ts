import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
// This import comes first: it sets the helper that is replaced below.
import 'nkeys.js';
import { getEd25519Helper, setEd25519Helper } from 'nkeys.js/lib/helper.js';

/** RFC 8410: what precedes the 32 bytes of a seed in a PKCS #8 document. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

const privateKey = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });

const publicKey = (key: KeyObject): Buffer => Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x!, 'base64url');

/**
 * Makes nkeys.js, also inside the NATS client, use Node's own Ed25519. Its JavaScript blocks the event loop for 25 to
 * 60 ms per set of user credentials, Node for 0.3 ms. `@nats-io/jwt` takes 40 to 80 ms, and the NATS client would still
 * need nkeys.js beside it.
 */
export const installNativeEd25519 = (): void => {
  const { fromSeed: _, sign: __, ...others } = getEd25519Helper();
  setEd25519Helper({
    ...others,
    fromSeed: (seed: Uint8Array) => {
      const found = publicKey(privateKey(seed));
      return { publicKey: new Uint8Array(found), secretKey: new Uint8Array(Buffer.concat([seed, found])) };
    },
    sign: (data: Uint8Array, secretKey: Uint8Array) => new Uint8Array(sign(null, data, privateKey(secretKey.subarray(0, 32)))),
  });
};
