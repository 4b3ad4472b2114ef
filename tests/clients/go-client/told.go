// What told.py is for Python: runs the checks of one client, and tells of each with a line of JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"
)

const filling = 390_000 // bytes of an item that takes 38 s of a partition at a hundredth of the rate

var (
	url, slowURL = os.Args[2], os.Args[3]
	errNotServed = errors.New("the local table does not have the operation")
)

type check func() (string, error)

type line struct {
	Check   string `json:"check"`
	Outcome string `json:"outcome"`
	Words   string `json:"words"`
}

func said(check, outcome, words string) {
	json.NewEncoder(os.Stdout).Encode(line{check, outcome, words})
}

// tell runs the checks in the order of `names`; `lacks` says why this client has none of a kind.
func tell(client string, names []string, checks map[string]check, lacks map[string]string) {
	var made []string
	for name := range checks {
		made = append(made, name)
	}
	for name := range lacks {
		made = append(made, name)
	}
	sort.Strings(made)
	all := append([]string{}, names...)
	sort.Strings(all)
	if strings.Join(made, " ") != strings.Join(all, " ") {
		panic("each check is made, or said to be missing")
	}
	said("client", "yes", client)
	for _, name := range names {
		if why, missing := lacks[name]; missing {
			said(name, "not in this client", why)
			continue
		}
		words, err := checks[name]()
		switch {
		case errors.Is(err, errNotServed):
			said(name, "not served", "")
		case err != nil:
			said(name, "no", err.Error())
		default:
			said(name, "yes", words)
		}
	}
}

// require is an error that shows what was found where it was not so.
func require(so bool, found ...any) error {
	if so {
		return nil
	}
	return fmt.Errorf("found %+v", found)
}

func namesOf(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var names []string
	decoder := json.NewDecoder(file) // token by token, for their order counts
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return names, nil
		}
		if _, brace := token.(json.Delim); brace {
			depth++
			continue
		}
		names = append(names, token.(string))
		decoder.Token()
	}
}

func askedFor(operation string) (int, error) {
	answer, err := http.Get(slowURL + "/_keyheat/requests")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var asked map[string]int
	err = json.NewDecoder(answer.Body).Decode(&asked)
	return asked[operation], err
}
