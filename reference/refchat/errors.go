package refchat

import (
	"fmt"
	"net/http"
)

// apiError is an answer other than success, in the API's JSON form.
type apiError struct {
	ID            string `json:"id"`
	Message       string `json:"message"`
	DetailedError string `json:"detailed_error"`
	RequestID     string `json:"request_id,omitempty"`
	StatusCode    int    `json:"status_code,omitempty"`

	cause error // goes to the log, never to the client
}

func (e *apiError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%d %s: %v", e.StatusCode, e.ID, e.cause)
	}
	return fmt.Sprintf("%d %s", e.StatusCode, e.ID)
}

func (e *apiError) Unwrap() error { return e.cause }

func newError(status int, id, message string) *apiError {
	return &apiError{ID: id, Message: message, StatusCode: status}
}

func badRequest(id, message string) *apiError {
	return newError(http.StatusBadRequest, id, message)
}
func forbidden(id, message string) *apiError { return newError(http.StatusForbidden, id, message) }
func missing(id, message string) *apiError   { return newError(http.StatusNotFound, id, message) }

func errBody(name string) *apiError {
	return badRequest("api.context.invalid_body_param.app_error",
		"Invalid or missing "+name+" in request body.")
}

func errURL(name string) *apiError {
	return badRequest("api.context.invalid_url_param.app_error",
		"Invalid or missing "+name+" parameter in request URL.")
}

// The answers of many operations.
var (
	errPermission = forbidden("api.context.permissions.app_error",
		"You do not have the appropriate permissions.")
	errSession = newError(http.StatusUnauthorized, "api.context.session_expired.app_error",
		"Invalid or expired session, please login again.")
	errInternal = newError(http.StatusInternalServerError, "api.internal.app_error",
		"Internal Server Error")
	errNoPage    = missing("api.context.404.app_error", "Sorry, we could not find the page.")
	errNoUser    = missing("app.user.missing_account.const", "Unable to find the user.")
	errNoChannel = missing("app.channel.get.existing.app_error",
		"Unable to find the existing channel.")
	errNoTeam = missing("app.team.get.find.app_error", "Unable to find the existing team.")
	errNoPost = missing("app.post.get.app_error", "Unable to get the post.")

	errNoTeamMember = missing("app.team.get_member.missing.app_error",
		"No team member found for that user ID and team ID.")
	errNoChannelMember = missing("app.channel.get_member.missing.app_error",
		"No channel member found for that user ID and channel ID.")
	errLogin = newError(http.StatusUnauthorized,
		"api.user.login.invalid_credentials_email_username",
		"Enter a valid email or username and/or password.")
)

// errStore is the answer to a request that the database failed; nil if it did not.
func errStore(op string, cause error) error {
	if cause == nil {
		return nil
	}
	return &apiError{
		ID:         "app.store." + op + ".app_error",
		Message:    "An unexpected error occurred in the store.",
		StatusCode: http.StatusInternalServerError,
		cause:      fmt.Errorf("%s: %w", op, cause),
	}
}

// errFind is errStore, but none if there was no row to find.
func errFind(op string, cause, none error) error {
	if noRow(cause) {
		return none
	}
	return errStore(op, cause)
}
