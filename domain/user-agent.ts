const MAX_LENGTH = 512;

/** The part of the header User-Agent that is stored with an event: at most 512 characters; null without the header. */
export const storedUserAgent = (header: string | null | undefined): string | null => header?.slice(0, MAX_LENGTH) ?? null;
