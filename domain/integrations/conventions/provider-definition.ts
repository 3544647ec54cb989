import type { IntegrationOptions } from './integration-options.ts';
import type { SignatureScheme, SignedRequest } from './signature-scheme.ts';
import type { ValueSource } from './value-source.ts';

/** The texts of body fields, by JSON pointer. */
export type BodyFields = Readonly<Record<string, string>>;

/** The first field that exists is shown under the name. */
export type PreviewCandidate = readonly [name: string, ...pointers: string[]];

export type RetrySchedule = {
  /** `same`: retries have the signature of the first attempt. `new`: each has its own, with its own time if one is signed. */
  readonly signs: 'same' | 'new';
  /**
   * The delays between the attempts that the provider makes on its own; empty if it makes only one. Where it documents only a total
   * time or a range, these are the longest delays.
   */
  readonly delaysSeconds: readonly number[];
  /** How long after the first attempt a person can make the provider send the delivery again; 0: not at all. */
  readonly byHandSeconds: number;
};

/** Without `issuedAs`, people choose the secret, or the platform creates it. */
export type ProviderSecret = {
  /** What the provider that creates the secret or key calls it. */
  readonly issuedAs?: string;
  /** `whsec`: Standard Webhooks; `token`: sent as it is, in a header; `public_key`: only the sender can sign. */
  readonly form?: 'whsec' | 'token' | 'public_key';
  /** Form and name of other values of the provider that people take for the secret. Nothing is signed with them. */
  readonly mistaken?: readonly (readonly [RegExp, string])[];
};

/** `body` is sent as JSON; null: no body. */
export type HandshakeReply = { readonly status: 200 | 204; readonly body: Readonly<Record<string, string | number>> | null };

/** Checks a webhook URL with a signed request that expects a certain response. */
export type Handshake = {
  /** The fields that `reply` reads. */
  readonly pointers: readonly string[];
  readonly reply: (fields: BodyFields, key: Uint8Array) => HandshakeReply | null;
  /** True if the body has nothing that the provider would send in a delivery. Called only if there is a reply. */
  readonly isBare: (document: Readonly<Record<string, unknown>>) => boolean;
};

/** Checks an address with a request that has exactly this form, so that it has no content to lose. */
export type AddressProbe = {
  readonly isUnsigned: (request: SignedRequest, body: string) => boolean;
  /** The form is the body of a signed request, or the query of a GET request. */
  readonly isForm?: (form: string) => boolean;
};

/** `outcome`: id and outcome as JSON. `twiml`: an empty TwiML document, with which Twilio does nothing. `empty`: no body. */
export type ProviderAnswer = { readonly status: 200 | 202 | 204; readonly body: 'outcome' | 'twiml' | 'empty' };

export type RecordedBody = { readonly media: 'json' | 'form'; readonly fields: BodyFields };

/**
 * From the provider's documentation, shortened. `headers`: only those with the delivery id and the event name. `id` and `event`: what the
 * platform reads; the id `digest` is the SHA-256 of the body.
 */
export type Sample = {
  readonly id: string;
  readonly event: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
};

/** The settings of an integration that influence how deliveries are read. */
export type IntegrationSettings = { readonly delivery_id_source: string | null; readonly options: IntegrationOptions };

/** A comment links to the documentation of the provider. */
export type ProviderDefinition = {
  readonly label: string;
  /** The name as it is written in header names, if not with one capital letter at its start. */
  readonly headerSpelling?: string;
  readonly scheme: SignatureScheme;
  readonly delivery: ValueSource;
  readonly event: ValueSource;
  /** `fields`: the fields of a form are the data. If absent, a form must have a field `payload` with JSON. */
  readonly forms?: 'fields';
  /** The time of signing in Unix milliseconds, and how far it may be from the present. */
  readonly bodyTimestamp?: { readonly pointer: string; readonly toleranceSeconds: number };
  /** The provider also signs the header with the delivery id. A delivery id in the body is always signed. */
  readonly isIdSigned?: true;
  /** Absent if people choose the secret, which can have any form. */
  readonly secret?: ProviderSecret;
  readonly options?: readonly (keyof IntegrationOptions)[];
  /** @throws Refusal invalid if they cannot be combined */
  readonly checkOptions?: (options: IntegrationOptions) => void;
  /** What differs for an integration with these settings. */
  readonly withSettings?: (settings: IntegrationSettings) => Partial<Pick<ProviderDefinition, 'scheme' | 'delivery' | 'event'>>;
  /** Steps that enter URL and secret in the settings of the provider. */
  readonly setup: readonly string[];
  /** Absent if the senders are not known. */
  readonly retries?: RetrySchedule;
  /** The fields that tell deliveries apart best, the best first. */
  readonly preview?: readonly PreviewCandidate[];
  readonly handshake?: Handshake;
  readonly probe?: AddressProbe;
  /** What the provider reads besides a status of 2xx, whether accepted, blocked or duplicate. Null: the usual answer. */
  readonly answer?: (recorded: RecordedBody) => ProviderAnswer | null;
  /** The query parameter for the digest of the body, in a shell command that sends a delivery. */
  readonly urlDigest?: string;
  /** At least three. */
  readonly samples: readonly Sample[];
};
