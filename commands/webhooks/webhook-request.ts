import { storedUserAgent } from '../../domain/user-agent.ts';
import type { Coding } from '../../domain/webhooks/content-coding.ts';
import type { ReceivedBody } from '../../domain/webhooks/conventions/received-body.ts';
import type { SignedRequest } from '../../domain/webhooks/conventions/signature-scheme.ts';
import type { DeliveryIdentity } from '../../domain/webhooks/delivery-identity.ts';
import type { Integration } from '../../domain/webhooks/integration.ts';
import type { MatchedSecret } from '../../domain/webhooks/signature.ts';

/**
 * An HTTP request of a provider. The body contains the bytes as they were received or, if they were packed or not in
 * UTF-8, what they contain. `unpack` is present only if the request has a Content-Encoding, and returns the body without
 * its codings; if the signature is not verified yet, only if the result is small.
 * @throws Refusal malformed, too_large, unavailable
 */
export type WebhookRequest = SignedRequest & {
  readonly integration_id: string;
  readonly ip: string | null;
  readonly unpack?: (codings: readonly Coding[], isVerified: boolean) => Promise<ReceivedBody>;
};

/** A request whose body has not been read yet. */
export type WebhookRequestHead = Omit<WebhookRequest, 'body' | 'unpack'>;

/** A request to an existing integration. */
export type AddressedRequest = {
  readonly request: WebhookRequestHead;
  readonly integration: Integration;
  readonly identity: DeliveryIdentity;
};

/** A request whose signature, content type and delivery id are valid. */
export type VerifiedRequest = AddressedRequest & {
  readonly request: WebhookRequest;
  /** The id of the delivery. It is derived from the integration and the provider's delivery id. */
  readonly id: string;
  /** When the request was received, as RFC 3339 UTC with milliseconds. */
  readonly receivedAt: string;
  /** Whether the signature is too old for a first attempt. Then it is a retry of the provider, or a copy. */
  readonly isLate: boolean;
  readonly matchedSecret: MatchedSecret | null;
};

export const userAgentOf = ({ header }: WebhookRequestHead): string | null => storedUserAgent(header('user-agent'));
