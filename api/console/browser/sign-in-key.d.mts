export const isKey: (text: string) => boolean;
