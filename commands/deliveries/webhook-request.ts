import type { Coding } from '../../domain/bodies/content-coding.ts';
import type { ReceivedBody } from '../../domain/bodies/received-body.ts';
import type { SignedRequest } from '../../domain/integrations/conventions/signature-scheme.ts';
import type { DeliveryIdentity } from '../../domain/integrations/delivery-identity.ts';
import type { Integration } from '../../domain/integrations/integration.ts';
import type { MatchedSecret } from '../../domain/integrations/signature.ts';
import { storedUserAgent } from '../../domain/user-agent.ts';

/**
 * The body as received or, if compressed or not in UTF-8, what it contains. `unpack`, only with a Content-Encoding, returns the body without
 * codings; without a verified signature, only if the result is small.
 * @throws Refusal malformed, too_large, unavailable
 */
export type WebhookRequest = SignedRequest & {
  readonly integration_id: string;
  readonly ip: string | null;
  readonly unpack?: (codings: readonly Coding[], isVerified: boolean) => Promise<ReceivedBody>;
};

/** The body has not been read yet. */
export type WebhookRequestHead = Omit<WebhookRequest, 'body' | 'unpack'>;

/** A request to an existing integration. */
export type AddressedRequest = {
  readonly request: WebhookRequestHead;
  readonly integration: Integration;
  readonly identity: DeliveryIdentity;
};

/** Signature, content type and delivery id are valid. */
export type VerifiedRequest = AddressedRequest & {
  readonly request: WebhookRequest;
  /** Derived from the integration and the provider's delivery id. */
  readonly id: string;
  /** RFC 3339 UTC with milliseconds. */
  readonly receivedAt: string;
  /** The signature is too old for a first attempt: a retry of the provider, or a copy. */
  readonly isLate: boolean;
  readonly matchedSecret: MatchedSecret | null;
};

export const userAgentOf = ({ header }: WebhookRequestHead): string | null => storedUserAgent(header('user-agent'));
