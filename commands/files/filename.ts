import { cleanDisplayText } from '../../domain/fields.ts';

const MAX_FILENAME_LENGTH = 255;

/** The name without folders, on one line. */
export const shownFilename = (filename: string): string => cleanDisplayText(filename.split(/[/\\]/).at(-1)!, MAX_FILENAME_LENGTH) ?? 'file';
