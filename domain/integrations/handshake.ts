import type { ReceivedBody } from '../bodies/received-body.ts';
import { withoutByteOrderMark } from '../byte-order-mark.ts';
import type { BodyFields, Handshake, HandshakeReply } from './conventions/provider-definition.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';

const MAX_HANDSHAKE_BYTES = 16_384;

const isBareBody = ({ isBare }: Handshake, body: ReceivedBody): boolean => {
  if (!(body instanceof Uint8Array) || body.length > MAX_HANDSHAKE_BYTES) return false;
  try {
    return isBare(JSON.parse(Buffer.from(withoutByteOrderMark(body)).toString()));
  } catch {
    return false;
  }
};

/** Null if the request is not a handshake, or has content, which must not be lost. `key`: that of the verified signature. */
export const handshakeReply = (
  provider: Provider,
  { body, fields }: { readonly body: ReceivedBody; readonly fields: BodyFields },
  key: Uint8Array,
): HandshakeReply | null => {
  const { handshake } = PROVIDER_DEFINITIONS[provider];
  const reply = handshake?.reply(fields, key) ?? null;
  return reply && isBareBody(handshake!, body) ? reply : null;
};
