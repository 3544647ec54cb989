import type { InspectedBody, Media } from '../../domain/bodies/body-inspection.ts';
import { MAX_BODY_BYTES } from '../../domain/bodies/delivery-body.ts';
import { isQueryProbe, isSignedProbe, isUnsignedProbe } from '../../domain/integrations/address-probe.ts';
import type { HandshakeReply, ProviderAnswer } from '../../domain/integrations/conventions/provider-definition.ts';
import { handshakeReply } from '../../domain/integrations/handshake.ts';
import type { Integration } from '../../domain/integrations/integration.ts';
import { providerAnswer } from '../../domain/integrations/provider-answer.ts';
import { identityOf, isLate, isTimely, type ProviderPreset, presetOf } from '../../domain/integrations/provider-preset.ts';
import type { MatchedSecret, SigningKeys } from '../../domain/integrations/signature.ts';
import { Refusal } from '../../domain/refusal.ts';
import { identityFault, type RejectionFault, refusalOf, rejectionOf, signatureFault, tooLarge } from './delivery-rejection.ts';
import { evaluateDelivery } from './evaluate-delivery.ts';
import { readableRequest, type UnpackedRequest, unpackRequest } from './open-body.ts';
import type { BodyMemory, NewDelivery, RecordingPort, ReportRateLimit, WebhookPorts } from './webhook-ports.ts';
import type { VerifiedRequest, WebhookRequest, WebhookRequestHead } from './webhook-request.ts';

/** `token`: of the recorded event; null for a duplicate, or if it is stored but not in the log yet. */
export type DeliveryOutcome = {
  readonly id: string;
  readonly outcome: 'accepted' | 'blocked' | 'duplicate';
  readonly token: string | null;
  /** What the provider gets; absent for the usual answer. */
  readonly answer?: ProviderAnswer;
};

const PROBE_REPLY: HandshakeReply = { status: 200, body: null };

const unknownAddress = () => new Refusal('not_found', 'There is no such webhook address');

/** A request whose signature is verified, and whose body is decompressed and in UTF-8. */
type OpenedRequest = { readonly request: WebhookRequest; readonly media: Media; readonly signed: SignedDelivery; readonly key: Uint8Array };

/**
 * Verifies the signature, and makes the body readable.
 * @throws Refusal not_found, unauthorized, unsupported_media_type, malformed, too_large, unavailable
 */
const openRequest = async (
  ports: WebhookPorts,
  received: WebhookRequest,
  integration: Integration | null,
  preset: ProviderPreset,
): Promise<OpenedRequest> => {
  const { verification } = ports;
  const receivedAt = ports.now();
  const keys = integration && (await verification.signingKeys(integration, receivedAt));
  const verifying = verification.verify(preset.scheme, received, keys);
  const arrived = { request: received, verification: verifying instanceof Promise ? await verifying : verifying };
  if (!integration || !keys) throw unknownAddress();
  const unpacked: UnpackedRequest = received.unpack ? await unpackRequest(verification, preset.scheme, arrived, keys) : arrived;
  const { matched, reason } = unpacked.verification;
  const signed: SignedDelivery = { request: unpacked.request, integration, preset, receivedAt, matched };
  if (unpacked.fault) throw reject(ports, signed, unpacked.fault);
  if (reason) throw reject(ports, signed, signatureFault(reason, preset, unpacked.request));
  const readable = readableRequest(unpacked.request);
  if ('reason' in readable) throw reject(ports, signed, readable);
  return { ...readable, signed, key: usedKey(keys, matched) };
};

/**
 * Verifies the signature, and answers a check of the address. Any other request is a delivery: counted against the plan's quota, checked
 * by guardrails, and recorded exactly once. A redelivery is counted only if this process does not remember the first delivery.
 * @throws Refusal not_found, unauthorized, unsupported_media_type, malformed, rate_limited, unavailable
 */
export const receive = async (
  ports: WebhookPorts,
  received: WebhookRequest,
  reportRateLimit: ReportRateLimit,
): Promise<DeliveryOutcome | HandshakeReply> => {
  const { eligibility, verification, recording } = ports;
  const found = await eligibility.integration(received.integration_id);
  const preset = presetOf(found);
  if (found && isUnsignedProbe(found.provider, preset.scheme, received)) return answerCheck(recording, found, PROBE_REPLY);
  const { request, media, signed, key } = await openRequest(ports, received, found, preset);
  const { integration, receivedAt, matched } = signed;
  const question = { media, forms: preset.forms, pointers: preset.pointers };
  const body = preset.needsBody ? await verification.inspectBody(question, request.body) : undefined;
  if (!isTimely(preset, request, receivedAt, body)) throw reject(ports, signed, { reason: 'timestamp_out_of_range' });
  if (isSignedProbe(integration.provider, request)) return answerCheck(recording, integration, PROBE_REPLY);
  const handshake = body && handshakeReply(integration.provider, { body: request.body, fields: body.fields }, key);
  if (handshake) return answerCheck(recording, integration, handshake);
  const identity = identityOf(preset, request, body);
  const fault = identityFault(identity);
  if (fault) throw reject(ports, signed, { reason: fault }, body);
  const id = recording.deliveryId(integration, identity.delivery!);
  const isLateAttempt = isLate(preset, receivedAt, body);
  const delivery: VerifiedRequest = { request, integration, identity, id, receivedAt, isLate: isLateAttempt, matchedSecret: matched };
  if (!recording.isKnown(integration, id)) await enforceQuota(ports, delivery, reportRateLimit);
  const inspecting = body ?? verification.inspectBody(question, request.body);
  const inspected = inspecting instanceof Promise ? await inspecting : inspecting;
  if (inspected.isNotUtf8) throw reject(ports, signed, NOT_UTF8, inspected);
  const evaluated = await evaluateDelivery(ports, { ...delivery, identity: identityOf(preset, request, inspected) }, inspected);
  const answer = providerAnswer(integration.provider, { media, fields: inspected.fields });
  const outcome = await recordOnce(ports, evaluated);
  return answer ? { ...outcome, answer } : outcome;
};

const answerCheck = ({ answerHandshake }: RecordingPort, integration: Integration, reply: HandshakeReply): HandshakeReply => {
  answerHandshake(integration);
  return reply;
};

/**
 * Answers requests that are not deliveries: HEAD, with which some providers check the address, or GET, with the `query` of the URL.
 * @throws Refusal not_found, method_not_allowed, unavailable
 */
export const checkAddress = async (
  { eligibility, recording }: WebhookPorts,
  id: string,
  method: 'GET' | 'HEAD',
  query: string,
): Promise<HandshakeReply> => {
  const integration = await eligibility.integration(id);
  if (!integration) throw unknownAddress();
  if (method === 'HEAD' || isQueryProbe(integration.provider, query)) return answerCheck(recording, integration, PROBE_REPLY);
  throw new Refusal('method_not_allowed', 'This is the address of a webhook: deliveries are sent to it with POST', {
    allow: 'HEAD, POST, OPTIONS',
  });
};

/** A request to an existing integration. `matched`: the secret that verified the signature; null if not verified yet. */
type SignedDelivery = {
  readonly request: WebhookRequest;
  readonly integration: Integration;
  readonly preset: ProviderPreset;
  readonly receivedAt: string;
  readonly matched: MatchedSecret | null;
};

const NOT_UTF8: RejectionFault = {
  reason: 'body_malformed',
  note: 'The body is not valid UTF-8: send it in UTF-8, or name its charset in the Content-Type',
};

/** @returns the refusal for the sender */
const reject = (ports: WebhookPorts, signed: SignedDelivery, fault: RejectionFault, body?: InspectedBody): Refusal => {
  const { request, integration, preset, receivedAt } = signed;
  const identity = identityOf(preset, request, body);
  ports.recording.recordRejection(integration, rejectionOf({ request, integration, identity }, fault, request.body.length), receivedAt);
  return refusalOf(fault, preset);
};

const usedKey = ({ current, previous }: SigningKeys, matched: MatchedSecret | null): Uint8Array =>
  matched === 'previous' && previous ? previous : current;

/**
 * Call before a large body of `size` bytes is read: checks the size (a rejection above the limit) and that the integration exists.
 * @throws Refusal too_large, not_found, unavailable
 */
export const admitLarge = async (ports: WebhookPorts, request: WebhookRequestHead, size: number): Promise<BodyMemory> => {
  const integration = await ports.eligibility.integration(request.integration_id);
  if (size > MAX_BODY_BYTES) {
    if (integration) {
      const identity = identityOf(presetOf(integration), request);
      // Content-Length can announce any number.
      const announced = Math.min(size, Number.MAX_SAFE_INTEGER);
      const rejection = rejectionOf({ request, integration, identity }, { reason: 'too_large' }, announced);
      ports.recording.recordRejection(integration, rejection, ports.now());
    }
    throw tooLarge();
  }
  if (!integration) throw unknownAddress();
  return ports.verification.bodyMemory({ tenant: integration.tenant_id, integration: integration.id }, size);
};

/** Once the plan's quota is used up, counts the delivery as a rejection. @throws Refusal rate_limited, unavailable */
const enforceQuota = async (ports: WebhookPorts, verified: VerifiedRequest, reportRateLimit: ReportRateLimit): Promise<void> => {
  const { integration, request, receivedAt } = verified;
  try {
    await ports.eligibility.enforceQuota(integration.tenant_id, reportRateLimit);
  } catch (error) {
    const isBeyondQuota = error instanceof Refusal && error.code === 'rate_limited';
    if (isBeyondQuota)
      ports.recording.recordRejection(integration, rejectionOf(verified, { reason: 'rate_limited' }, request.body.length), receivedAt);
    throw error;
  }
};

const recordOnce = async ({ recording }: WebhookPorts, delivery: NewDelivery): Promise<DeliveryOutcome> => {
  const { id, type } = delivery;
  const { token, isSpooled } = await recording.record(delivery);
  if (token !== null || isSpooled) return { id, outcome: type === 'WebhookBlocked' ? 'blocked' : 'accepted', token };
  recording.compareRedelivery(delivery);
  return { id, outcome: 'duplicate', token };
};
