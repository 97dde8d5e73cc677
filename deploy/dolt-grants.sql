-- Run once, when Dolt's volume is made: Assent's user may do everything in its database, and this only if it is said.
GRANT EXECUTE ON PROCEDURE `assent`.dolt_backup TO `assent`@`%`;
