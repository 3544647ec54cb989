import type { IntegrationOptions } from './integration-options.ts';
import type { SignatureScheme, SignedRequest } from './signature-scheme.ts';
import type { ValueSource } from './value-source.ts';

/** The requested fields of a body by their JSON pointers, as texts. */
export type BodyFields = Readonly<Record<string, string>>;

/** A name, and the JSON pointers to the fields whose value may be shown under it; the first one that exists is used. */
export type PreviewCandidate = readonly [name: string, ...pointers: string[]];

export type RetrySchedule = {
  /**
   * `same`: a retry has the signature of the first attempt. `anew`: the provider computes a new signature for each
   * attempt, with the time of the attempt if a time is signed.
   */
  readonly signs: 'same' | 'anew';
  /**
   * The seconds between the attempts that the provider makes on its own. If the list is empty, it makes only one. If the
   * provider documents only a total time or a range, the delays are the longest ones.
   */
  readonly delaysSeconds: readonly number[];
  /** For how long after the first attempt a person can have the provider send a delivery again; 0 if not at all. */
  readonly byHandSeconds: number;
};

/** What the secret of an integration is. If `issuedAs` is absent, people choose it, or the platform creates it. */
export type ProviderSecret = {
  /** The name that a provider which creates the secret or key itself uses for it. */
  readonly issuedAs?: string;
  /** `whsec`: the form of Standard Webhooks. `token`: it is sent as it is, in a header. `public_key`: only the sender can sign. */
  readonly form?: 'whsec' | 'token' | 'public_key';
  /** The form and name of other values of the provider, which people take for the secret. Nothing is signed with them. */
  readonly mistaken?: readonly (readonly [RegExp, string])[];
};

/**
 * The response that a provider expects when it checks a webhook URL. `body` is sent as JSON; if it is null, the
 * response has no body.
 */
export type HandshakeReply = { readonly status: 200 | 204; readonly body: Readonly<Record<string, string | number>> | null };

/** How a provider checks a webhook URL with a signed request that expects a certain response. */
export type Handshake = {
  /** JSON pointers to the fields that `reply` reads. */
  readonly pointers: readonly string[];
  readonly reply: (fields: BodyFields, key: Uint8Array) => HandshakeReply | null;
  /** Returns whether a body has nothing that the provider would send in a delivery. Called only if there is a reply. */
  readonly isBare: (document: Readonly<Record<string, unknown>>) => boolean;
};

/** How a provider checks an address with a request that has exactly this form, so that it has no content to lose. */
export type AddressProbe = {
  readonly isUnsigned: (request: SignedRequest, body: string) => boolean;
  /** Returns whether the body of a signed request, or the query of a GET request, is a check. */
  readonly isForm?: (form: string) => boolean;
};

/**
 * What a provider gets when its delivery is recorded. `outcome`: the id and the outcome as JSON. `twiml`: an empty
 * TwiML document, with which Twilio does nothing. `empty`: no body.
 */
export type ProviderAnswer = { readonly status: 200 | 202 | 204; readonly body: 'outcome' | 'twiml' | 'empty' };

/** What is known of a recorded delivery when it is answered. */
export type RecordedBody = { readonly media: 'json' | 'form'; readonly fields: BodyFields };

/**
 * A delivery from the documentation of its provider, shortened. `headers` are only those with the delivery id and the
 * event name. `id` and `event` are the values that the platform reads from the delivery; if `id` is `digest`, the
 * delivery id is the SHA-256 of the body.
 */
export type Sample = {
  readonly id: string;
  readonly event: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
};

/** The settings of an integration on which it can depend how its deliveries are read. */
export type IntegrationSettings = { readonly delivery_id_source: string | null; readonly options: IntegrationOptions };

/** All that the platform knows of a provider. A comment links to the documentation of the provider. */
export type ProviderDefinition = {
  /** The name that people see. */
  readonly label: string;
  /** The name as it is written in header names, if not with one capital letter at its start. */
  readonly headerSpelling?: string;
  readonly scheme: SignatureScheme;
  readonly delivery: ValueSource;
  readonly event: ValueSource;
  /** `fields` means that the fields of a form are the data. If absent, a form must have a field `payload` with JSON. */
  readonly forms?: 'fields';
  /** The field of a body that has the time of signing in Unix milliseconds, and how far it may be from the present. */
  readonly bodyTimestamp?: { readonly pointer: string; readonly toleranceSeconds: number };
  /** Whether the provider also signs the header with the delivery id. A delivery id in the body is always signed. */
  readonly isIdSigned?: true;
  /** Absent if people choose the secret, in any form. */
  readonly secret?: ProviderSecret;
  readonly options?: readonly (keyof IntegrationOptions)[];
  /** Checks options of the list `options`. @throws Refusal invalid if they cannot be combined */
  readonly checkOptions?: (options: IntegrationOptions) => void;
  /** What differs for an integration with these settings. */
  readonly withSettings?: (settings: IntegrationSettings) => Partial<Pick<ProviderDefinition, 'scheme' | 'delivery' | 'event'>>;
  /** The steps that enter the URL and the secret of an integration in the settings of the provider. */
  readonly setup: readonly string[];
  /** Absent if the senders are not known. */
  readonly retries?: RetrySchedule;
  /** The fields that tell deliveries apart best, the best one first. */
  readonly preview?: readonly PreviewCandidate[];
  readonly handshake?: Handshake;
  readonly probe?: AddressProbe;
  /**
   * What the provider reads in an answer besides a status of 2xx, whether the delivery is accepted, blocked or a
   * duplicate. Null is the usual answer.
   */
  readonly answer?: (recorded: RecordedBody) => ProviderAnswer | null;
  /** The query parameter in which a shell command that sends a delivery writes the digest of the body. */
  readonly urlDigest?: string;
  /** Deliveries to try an integration with: at least three. */
  readonly samples: readonly Sample[];
};
