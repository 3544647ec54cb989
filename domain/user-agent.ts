const MAX_LENGTH = 512;

/**
 * Returns the part of the header User-Agent that is stored with an event: at most 512 characters; null if there is no
 * header.
 */
export const storedUserAgent = (header: string | null | undefined): string | null => header?.slice(0, MAX_LENGTH) ?? null;
