const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The W3C header `traceparent`; undefined if absent or invalid. If its version is later than 00, only the fields of version 00 are kept. */
export const traceParent = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined;
  const [, version, trace, parent, flags, rest] = TRACE_PARENT.exec(header) ?? [];
  if (!version || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  return /[^0]/.test(trace!) && /[^0]/.test(parent!) ? `00-${trace}-${parent}-${flags}` : undefined;
};

/** For `DeliveryFacts`; empty if the header is absent or invalid. */
export const traceField = (header: string | undefined): { readonly traceparent?: string } => {
  const traceparent = traceParent(header);
  return traceparent === undefined ? {} : { traceparent };
};
