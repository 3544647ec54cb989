import type { Integration } from '../../domain/webhooks/integration.ts';
import type { ProviderHeaders } from '../../domain/webhooks/provider.ts';
import type { MatchedSecret, SignedRequest } from '../../domain/webhooks/signature.ts';

/** A provider's HTTP request. The body holds the received bytes unchanged. */
export type WebhookRequest = SignedRequest & { readonly integration_id: string; readonly ip: string | null };

/** A request whose body is not read yet. */
export type WebhookRequestHead = Omit<WebhookRequest, 'body'>;

/** A request to an existing integration. `headers`: where its provider names the delivery and the event. */
export type AddressedRequest = {
  readonly request: WebhookRequestHead;
  readonly integration: Integration;
  readonly headers: ProviderHeaders;
};

/** A request whose signature, content type and delivery id are valid. */
export type VerifiedRequest = AddressedRequest & {
  readonly request: WebhookRequest;
  /** The delivery's id, derived from the integration and the provider's delivery id. */
  readonly id: string;
  /** RFC 3339 UTC with milliseconds. */
  readonly receivedAt: string;
  readonly matchedSecret: MatchedSecret | null;
};

const MAX_USER_AGENT_LENGTH = 512;

export const userAgentOf = ({ header }: WebhookRequestHead): string | null => header('user-agent')?.slice(0, MAX_USER_AGENT_LENGTH) ?? null;
