/** The reasons for which deliveries are rejected, blocked or given up, as people read them. */
export const REASONS: Readonly<Record<string, string>> = {
  signature_missing: 'The signature is missing',
  signature_malformed: 'The signature has another form than expected',
  signature_mismatch: 'The signature does not match the secret',
  timestamp_out_of_range: 'The time of the signature is too far from the present',
  unsupported_media_type: 'The content type is not supported',
  unsupported_encoding: 'The encoding of the body is not supported',
  body_malformed: 'The body is not what its headers say',
  delivery_id_missing: 'The id of the delivery is missing',
  delivery_id_malformed: 'The id of the delivery is not valid',
  event_malformed: 'The name of the event is not valid',
  too_large: 'The body is too large',
  max_deliveries: 'All attempts failed',
  terminated: 'The runner gave it up',
  held_too_long: 'It was held too long',
  agent_inactive: 'The agent was paused',
  paused: 'The integration was paused',
  event_filter: 'The integration does not want this event',
};

/** Says why a delivery was rejected, blocked or given up. */
export const reasonWords = (reason: string): string => {
  const words = reason.replaceAll('_', ' ');
  return REASONS[reason] ?? words.charAt(0).toUpperCase() + words.slice(1);
};
