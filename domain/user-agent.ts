const MAX_LENGTH = 512;

/**
 * Returns the User-Agent header as it is stored with an event: at most its first 512 characters; null if there is none.
 */
export const storedUserAgent = (header: string | null | undefined): string | null => header?.slice(0, MAX_LENGTH) ?? null;
