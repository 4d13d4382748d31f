package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/go-logr/logr/funcr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// The ConfigMaps it looks after, by label.
var selected = labels.SelectorFromSet(labels.Set{"informers": "yes"})

// informers runs a controller in every cluster that a kubeconfig has a context
// for. Each copies `data.wanted` of the selected ConfigMaps to `data.done`,
// reading from its informer's cache, until the process is interrupted.
func informers(arguments []string) error {
	flags := flag.NewFlagSet("informers", flag.ExitOnError)
	path := flags.String("kubeconfig", "", "a context for each cluster")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	ctrl.SetLogger(funcr.New(func(prefix, line string) { fmt.Println(prefix, line) }, funcr.Options{}))
	kubeconfig, err := clientcmd.LoadFromFile(*path)
	if err != nil {
		return err
	}
	clusters, ctx := errgroup.WithContext(ctrl.SetupSignalHandler())
	for name := range kubeconfig.Contexts {
		access, err := clientcmd.NewNonInteractiveClientConfig(*kubeconfig, name, nil, nil).ClientConfig()
		if err != nil {
			return fmt.Errorf("context %s: %w", name, err)
		}
		clusters.Go(func() error {
			if err := work(ctx, access); err != nil {
				return fmt.Errorf("cluster %s: %w", name, err)
			}
			return nil
		})
	}
	return clusters.Wait()
}

// work runs the controller of one cluster; it begins anew when that fails,
// because the API server may be away for as long as it likes.
func work(ctx context.Context, access *rest.Config) error {
	// The simulator speaks JSON alone.
	access.ContentType = "application/json"
	access.AcceptContentTypes = "application/json"
	for ctx.Err() == nil {
		manager, err := newManager(access)
		if err == nil {
			err = manager.Start(ctx)
		}
		if err != nil && ctx.Err() == nil {
			ctrl.Log.Error(err, "beginning anew", "server", access.Host)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

func newManager(access *rest.Config) (ctrl.Manager, error) {
	anew := true
	manager, err := ctrl.NewManager(access, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: selected},
		}},
		// One name for all of them: nobody reads their metrics.
		Controller: config.Controller{SkipNameValidation: &anew},
	})
	if err != nil {
		return nil, err
	}
	reconciler := &copier{manager.GetClient()}
	return manager, ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconciler)
}

type copier struct {
	client.Client
}

func (c *copier) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var found corev1.ConfigMap
	if err := c.Get(ctx, request.NamespacedName, &found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if found.Data["done"] == found.Data["wanted"] {
		return ctrl.Result{}, nil
	}
	changed := found.DeepCopy()
	changed.Data["done"] = found.Data["wanted"]
	return ctrl.Result{}, c.Update(ctx, changed)
}
