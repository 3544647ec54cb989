/** What a message says. It is stored encrypted only. Addresses are without names. */
export type MailContent = {
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  /** The header Message-ID, and those of the messages that led to this one, the oldest first. */
  readonly header_id: string | null;
  readonly references: readonly string[];
};

/** A file of a message. Its content is among the stored contents of the tenant. */
export type MailFile = {
  readonly attachment_id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly sha256: string;
};

/** The most characters of a text and of HTML that are part of a message. What is longer becomes an attachment. */
export const MAX_TEXT = 100_000;
export const MAX_HTML = 200_000;

/** How many earlier messages a reply names at most: the first one and the last ones. */
const MAX_REFERENCES = 20;

/** The header Message-ID of a message that an agent sends. */
export const headerIdOf = (message_id: string, domain: string): string => `<${message_id}@${domain}>`;

/** Returns the messages that a reply to a message names, the oldest first. */
export const referencesTo = ({ header_id, references }: Pick<MailContent, 'header_id' | 'references'>): readonly string[] => {
  const all = header_id === null ? references : [...references, header_id];
  return all.length <= MAX_REFERENCES ? all : [all[0]!, ...all.slice(1 - MAX_REFERENCES)];
};
