const MAX_LENGTH = 512;

/** As stored with an event: at most the first 512 characters. */
export const storedUserAgent = (header: string | null | undefined): string | null => header?.slice(0, MAX_LENGTH) ?? null;
