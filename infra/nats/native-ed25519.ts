import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { omit } from '../../domain/omit.ts';
// This import must come first, because it sets the Ed25519 helper that is replaced below.
import 'nkeys.js';
import { getEd25519Helper, setEd25519Helper } from 'nkeys.js/lib/helper.js';

/** The bytes that precede the 32-byte seed in a PKCS #8 document (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

const privateKey = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });

const publicKey = (key: KeyObject): Buffer => Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x!, 'base64url');

/**
 * Makes nkeys.js use Node's own Ed25519, also within the NATS client. When credentials are created, the JavaScript
 * implementation in nkeys.js blocks the event loop for 25 to 60 ms; Node's takes 0.3 ms. `@nats-io/jwt` is not an
 * alternative: it takes 40 to 80 ms, and the NATS client needs nkeys.js in any case.
 */
export const installNativeEd25519 = (): void => {
  const others = omit(getEd25519Helper(), 'fromSeed', 'sign');
  setEd25519Helper({
    ...others,
    fromSeed: (seed: Uint8Array) => {
      const found = publicKey(privateKey(seed));
      return { publicKey: new Uint8Array(found), secretKey: new Uint8Array(Buffer.concat([seed, found])) };
    },
    sign: (data: Uint8Array, secretKey: Uint8Array) => new Uint8Array(sign(null, data, privateKey(secretKey.subarray(0, 32)))),
  });
};
