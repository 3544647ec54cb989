/** A recipient who will never get the message. `reason`: an SMTP code such as `550`, or a status such as `5.1.1`. */
export type FailedRecipient = { readonly address: string; readonly reason: string };

/** A report from a mail server that had accepted the message. `message_id` is taken from its Message-ID; `failed` did not get it. */
export type DeliveryReport = { readonly message_id: string; readonly failed: readonly FailedRecipient[] };

/** An agent cannot send a message to more recipients. */
const MAX_FAILED = 1_000;

const OWN_HEADER_ID = /^message-id:\s*<(c[a-z0-9]{24})@/im;
const unfolded = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replaceAll(/\n[ \t]+/g, ' ');

/** Returns the fields of one recipient, with names in lower case. */
const fieldsOf = (group: string): ReadonlyMap<string, string> =>
  new Map([...group.matchAll(/^([\w-]+):[ \t]*(.*)$/gm)].map(([, name, value]) => [name!.toLowerCase(), value!.trim()]));

const failureIn = (group: string): FailedRecipient[] => {
  const fields = fieldsOf(group);
  const [, address] =
    /^rfc822;\s*<?([^\s<>]+@[^\s<>]+?)>?$/i.exec(fields.get('final-recipient') ?? fields.get('original-recipient') ?? '') ?? [];
  const status = fields.get('status') ?? '';
  if (!address || fields.get('action')?.toLowerCase() !== 'failed' || !status.startsWith('5')) return [];
  const [, code] = /\b(5\d\d)\b/.exec(fields.get('diagnostic-code') ?? '') ?? [];
  return [{ address, reason: code ?? /^5\.\d{1,3}\.\d{1,3}/.exec(status)?.[0] ?? '5' }];
};

/**
 * Reads a delivery status notification (RFC 3464): its part `message/delivery-status`, and that with the headers of the original. Null if
 * the message is not from this platform, or if no delivery has failed for good (a delay is not a failure).
 */
export const deliveryReport = (status: string, original: string): DeliveryReport | null => {
  const message_id = OWN_HEADER_ID.exec(unfolded(original))?.[1];
  // The first group of fields is about the whole message, and the others are about one recipient each.
  const [, ...groups] = unfolded(status).trim().split(/\n\n+/);
  const failed = groups.flatMap(failureIn).slice(0, MAX_FAILED);
  return message_id === undefined || failed.length === 0 ? null : { message_id, failed };
};
