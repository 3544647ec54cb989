export type SmtpError = Error & { responseCode: number };

export const answer = (responseCode: number, text: string): SmtpError => Object.assign(new Error(text), { responseCode });

export const tryLater = (text: string): SmtpError => answer(451, `4.3.0 ${text}`);

export const isSmtpError = (error: unknown): error is SmtpError => error instanceof Error && 'responseCode' in error;
